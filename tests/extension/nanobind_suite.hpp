// The parts of the module test_ndarray_ext: functions that take tensors, and those that return
// them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include <dlbridge/dlbridge.hpp>

inline constexpr float constants[8] = {1, 2, 3, 4, 5, 6, 7, 8};

void add_arguments(nanobind::module_& m);
void add_results(nanobind::module_& m);
void add_classes(nanobind::module_& m);
