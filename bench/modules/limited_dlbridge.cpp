// SPDX-License-Identifier: BSD-3-Clause
// A module by Python's C API, which bench/limited_api.py compiles with Py_LIMITED_API and without.
#include <dlbridge/python.hpp>

#include <new>
#include <vector>

namespace {

namespace dp = dlbridge::python;
using vector = dlbridge::shape<dlbridge::dynamic_extent>;
using values = std::vector<float>;

void read(dlbridge::tensor_span<float const, vector>) {}
void write(dlbridge::tensor_span<float, vector>) {}
dlbridge::managed_tensor same(dlbridge::managed_tensor x) { return x; }

struct array_object {
  PyObject_HEAD values own;
};

values& values_of(PyObject* self) { return reinterpret_cast<array_object*>(self)->own; }

PyObject* new_array(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* const self = PyType_GenericAlloc(type, 0);
  if (self != nullptr) {
    new (&values_of(self)) values(8);
  }
  return self;
}

void free_array(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  values_of(self).~values();
  PyObject_Free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

int add_all(PyObject* m) noexcept {
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(&new_array)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(&free_array)},
                         {0, nullptr}};
  PyType_Spec spec = {"limited.Array", sizeof(array_object), 0, Py_TPFLAGS_DEFAULT, slots};
  try {
    dp::def_fast<&read>(m, "read", {"x"});
    dp::def_fast<&write>(m, "write", {"x"});
    dp::def_fast<&same>(m, "same", {"x"});
    dp::ref const type = dp::ref::steal(PyType_FromSpec(&spec));
    if (!type) {
      return -1;
    }
    dp::def_dlpack<&values_of>(reinterpret_cast<PyTypeObject*>(type.get()));
    return PyObject_SetAttrString(m, "Array", type.get());
  } catch (...) {
    dp::set_error_thrown();
    return -1;
  }
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(&add_all)}, {0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "limited", nullptr, 0, nullptr, slots, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_limited() { return PyModuleDef_Init(&definition); }
