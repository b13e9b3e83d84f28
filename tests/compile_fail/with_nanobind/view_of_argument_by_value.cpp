// SPDX-License-Identifier: BSD-3-Clause
// A member_view keeps the object of a method alive, which a copy of it is not.
// lines: 80
// says: a member_view keeps the Python object of the first parameter alive
#include <dlbridge/nanobind.hpp>

#include <memory>
#include <utility>

#include <nanobind/stl/shared_ptr.h>

namespace nb = nanobind;
struct row {
  using element_type = std::pair<int, int>;  // a class is no smart pointer for that
  float values[2] = {1, 2};
};
dlbridge::member_view view(row& r) {
  return dlbridge::member_view(dlbridge::description::of(r.values, {2}));
}

void bind(nb::module_& m) {
  nb::class_<row> bound(m, "Row");
#ifdef WRONG
  dlbridge::def(bound, "values", [](row r) { return view(r); });
#else
  dlbridge::def(bound, "values", &view);
  dlbridge::def(bound, "of_pointer", [](row* r) { return view(*r); });
  dlbridge::def(bound, "of_holder", [](std::shared_ptr<row> const& r) { return view(*r); });
  dlbridge::def(bound, "of_object", [](nb::handle r) { return view(nb::cast<row&>(r)); });
#endif
}
