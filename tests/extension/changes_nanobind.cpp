// SPDX-License-Identifier: BSD-3-Clause
// The functions of changes_during_call.hpp.
#include <dlbridge/nanobind.hpp>

#include "changes_during_call.hpp"

namespace nb = nanobind;

namespace {
struct binder {
  nb::module_ def_module;
  nb::module_ fast_module;
  nb::module_ overloads_module;
  nb::module_ library_module;

  template <class F>
  void by_def(char const* name, F function) {
    dlbridge::def(def_module, name, function, nb::arg("x"), nb::arg("y"));
  }
  template <class F>
  void by_fast(char const* name, F function) {
    dlbridge::def_fast(fast_module, name, function, {"x", "y"});
  }
  template <class F>
  void by_overloads(char const* name, F function) {
    dlbridge::def(overloads_module, name, function, nb::arg("x"), nb::arg("y"));
  }
  template <class F>
  void by_library(char const* name, F function) {
    library_module.def(name, function, nb::arg("x"), nb::arg("y"));
  }
};
}  // namespace

void add_changes(nb::module_& parent);

void add_changes(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("changes");
  changes_during_call::add(binder{m.def_submodule("by_def"), m.def_submodule("by_fast"),
                                  m.def_submodule("by_overloads"), m.def_submodule("by_library")});
}
