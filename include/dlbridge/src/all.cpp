// All bodies in one unit: a source of a project that does not use CMake includes this file.
// SPDX-License-Identifier: BSD-3-Clause
#include <dlbridge/src/core.cpp>
#include <dlbridge/src/devices.cpp>
#include <dlbridge/src/pybind11.cpp>
#include <dlbridge/src/python.cpp>
