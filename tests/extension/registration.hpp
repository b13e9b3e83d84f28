// The functions that add the bindings of each source file to the module `extension`, and to
// `nanobind_extension`.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "library.hpp"

void add_arguments(py::module_& m);
void add_changes(py::module_& m);
void add_constraints(py::module_& m);
void add_containers(py::module_& m);
void add_records(py::module_& m);
void add_results(py::module_& m);
void add_overloads(py::module_& m);
void add_dispatch(py::module_& m);
void add_exits(py::module_& m);
void add_fast(py::module_& m);
void add_classes(py::module_& m);
void add_members(py::module_& m);
void add_python_errors(py::module_& m);
void add_visible(py::module_& m);
