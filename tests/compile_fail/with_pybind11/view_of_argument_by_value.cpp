// SPDX-License-Identifier: BSD-3-Clause
// A member_view keeps the object of the first parameter alive, which a copy of it is not.
// lines: 80
// says: a member_view keeps the Python object of the first parameter alive
#include <dlbridge/pybind11.hpp>

#include <memory>
#include <utility>

namespace py = pybind11;
struct row {
  using element_type = std::pair<int, int>;  // a class is no smart pointer for that
  float values[2] = {1, 2};
};
dlbridge::member_view view(row& r) {
  return dlbridge::member_view(dlbridge::description::of(r.values, {2}));
}

PYBIND11_MODULE(bad, m) {
  py::class_<row, std::shared_ptr<row>> bound(m, "Row");
#ifdef WRONG
  dlbridge::def(bound, "values", [](row r) { return view(r); });
#else
  dlbridge::def(bound, "values", &view);
  dlbridge::def(bound, "of_pointer", [](row* r) { return view(*r); });
  dlbridge::def(m, "of_holder", [](std::shared_ptr<row> const& r) { return view(*r); });
  dlbridge::def(m, "of_object", [](py::object const& r) { return view(r.cast<row&>()); });
  dlbridge::def(m, "of_first", [](py::args const& r) { return view(r[0].cast<row&>()); });
#endif
}
