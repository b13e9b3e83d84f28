// SPDX-License-Identifier: BSD-3-Clause
// Objects that live until Python exits: their destructors print a line.
#include <array>
#include <cstdio>

#include <dlbridge/bridges/std.hpp>

#include "registration.hpp"

namespace {

using dlbridge::library;
using dlbridge::returns;

struct late {
  explicit late(int n) : number(n) {}
  late(late const&) = delete;
  late& operator=(late const&) = delete;
  ~late() {
    std::printf("freed %d\n", number);
    std::fflush(stdout);
  }
  dlbridge::member_view view() { return dlbridge::member_view(dlbridge::describe(values)); }
  int number;
  std::array<float, 3> values{};
};

}  // namespace

template <>
struct dlbridge::array_traits<late> {
  static description describe(late& x) noexcept {
    return description::of(x.values.data(), {x.values.size()});
  }
};

void add_exits(py::module_& scope) {
  py::module_ m = scope.def_submodule("exits");
  py::class_<late> bound(m, "Late");
  bound.def(py::init<int>());
  dlbridge::def_property_readonly(bound, "view", &late::view);
  dlbridge::def_property_readonly(bound, "array", &late::view, returns{library::numpy});
  dlbridge::def_property_readonly(bound, "tensor", &late::view, returns{library::dlbridge});
  dlbridge::def_dlpack(bound);
  static dlbridge::managed_tensor kept;
  dlbridge::def(m, "keep", [](dlbridge::managed_tensor x) { kept = std::move(x); }, py::arg("x"));
#if defined(WITH_NANOBIND)
  // [static_nanobind]
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] { kept = {}; }));
  // [/static_nanobind]
#else
  // [static]
  py::module_::import("atexit").attr("register")(py::cpp_function([] { kept = {}; }));
  // [/static]
#endif
}
