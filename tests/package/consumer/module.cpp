// SPDX-License-Identifier: BSD-3-Clause
// An extension module by Python's C API, whose one function adds the elements of a tensor or list.
#include <dlbridge/python.hpp>

#include <cstdint>

namespace {

using vector = dlbridge::shape<dlbridge::dynamic_extent>;

double total(dlbridge::or_other<dlbridge::argument<double const, vector>> values) {
  double sum = 0;
  for (std::int64_t i = 0; i < values.extent(0); ++i) {
    sum += values(i);
  }
  return sum;
}

int add_functions(PyObject* m) noexcept {
  try {
    dlbridge::python::def_fast<&total>(m, "total", {"values"});
    return 0;
  } catch (...) {
    dlbridge::python::set_error_thrown();
    return -1;
  }
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(&add_functions)}, {0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "consumer_module",
                          nullptr,
                          0,
                          nullptr,
                          slots,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_consumer_module() { return PyModuleDef_Init(&definition); }
