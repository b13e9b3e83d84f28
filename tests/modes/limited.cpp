// A unit with Python's C API alone, with Py_LIMITED_API or without it.
// SPDX-License-Identifier: BSD-3-Clause
#include <dlbridge/python.hpp>

#include <cstdint>

namespace {
std::int64_t rows(dlbridge::tensor_span<float const, dlbridge::shape<dlbridge::dynamic_extent>> x) {
  return x.extent(0);
}
}  // namespace

void add_rows(PyObject* m) { dlbridge::python::def_fast<&rows>(m, "rows", {"x"}); }
