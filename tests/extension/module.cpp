// SPDX-License-Identifier: BSD-3-Clause
// The modules `extension` and `nanobind_extension`. Each of the other source files adds its
// bindings.
#include "registration.hpp"

#if defined(WITH_NANOBIND)
void add_more_of_nanobind(py::module_& m);

NB_MODULE(nanobind_extension, m) {
  add_more_of_nanobind(m);
#else
PYBIND11_MODULE(extension, m, py::mod_gil_not_used()) {
#endif
  dlbridge::init(m);
  add_arguments(m);
  add_changes(m);
  add_constraints(m);
  add_containers(m);
  add_records(m);
  add_results(m);
  add_overloads(m);
  add_dispatch(m);
  add_python_errors(m);
  add_exits(m);
  add_fast(m);
  add_classes(m);
  add_members(m);
  add_visible(m);
}
