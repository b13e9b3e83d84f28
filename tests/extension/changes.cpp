// SPDX-License-Identifier: BSD-3-Clause
// The functions of changes_during_call.hpp.
#include "changes_during_call.hpp"
#include "registration.hpp"

namespace {
struct binder {
  py::module_ def_module;
  py::module_ fast_module;
  py::module_ overloads_module;
  py::module_ library_module;

  template <class F>
  void by_def(char const* name, F function) {
    dlbridge::def(def_module, name, function, py::arg("x"), py::arg("y"));
  }
  template <class F>
  void by_fast(char const* name, F function) {
    dlbridge::def_fast(fast_module, name, function, {"x", "y"});
  }
  template <class F>
  void by_overloads(char const* name, F function) {
    dlbridge::def(overloads_module, name, function, py::arg("x"), py::arg("y"));
  }
  template <class F>
  void by_library(char const* name, F function) {
    library_module.def(name, function, py::arg("x"), py::arg("y"));
  }
};
}  // namespace

void add_changes(py::module_& parent) {
  py::module_ m = parent.def_submodule("changes");
  py::module_ by_library = m.def_submodule("by_library");
  dlbridge::init(by_library);  // stubs of plain m.def name its protocols
  changes_during_call::add(binder{m.def_submodule("by_def"), m.def_submodule("by_fast"),
                                  m.def_submodule("by_overloads"), by_library});
}
