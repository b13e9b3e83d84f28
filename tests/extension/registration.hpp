// The functions that add the bindings of each source file to the module `extension`.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

void add_arguments(pybind11::module_& m);
void add_changes(pybind11::module_& m);
void add_constraints(pybind11::module_& m);
void add_containers(pybind11::module_& m);
void add_results(pybind11::module_& m);
void add_overloads(pybind11::module_& m);
void add_dispatch(pybind11::module_& m);
void add_fast(pybind11::module_& m);
void add_classes(pybind11::module_& m);
void add_members(pybind11::module_& m);
void add_python_errors(pybind11::module_& m);
void add_visible(pybind11::module_& m);
