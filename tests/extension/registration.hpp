// The parts of the module `extension`, one for each source file.
#pragma once

#include <pybind11/pybind11.h>

void add_arguments(pybind11::module_& m);
void add_constraints(pybind11::module_& m);
void add_results(pybind11::module_& m);
void add_overloads(pybind11::module_& m);
void add_fast(pybind11::module_& m);
void add_classes(pybind11::module_& m);
