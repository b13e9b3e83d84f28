// bind_norms: adds the function norms to a module.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

void bind_norms(pybind11::module_& m);
