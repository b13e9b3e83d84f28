// SPDX-License-Identifier: BSD-3-Clause
// The module `extension`. Each of the other source files adds its bindings.
#include <dlbridge/pybind11.hpp>

#include "registration.hpp"

PYBIND11_MODULE(extension, m, pybind11::mod_gil_not_used()) {
  dlbridge::init(m);
  add_arguments(m);
  add_changes(m);
  add_constraints(m);
  add_containers(m);
  add_results(m);
  add_overloads(m);
  add_dispatch(m);
  add_python_errors(m);
  add_fast(m);
  add_classes(m);
  add_members(m);
  add_visible(m);
}
