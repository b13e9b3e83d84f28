// All bodies in one unit, for build systems other than CMake: a project includes this file in a
// source of its own, and defines DLBRIDGE_COMPILED for all sources. SPDX-License-Identifier:
// BSD-3-Clause
#include <dlbridge/src/core.cpp>
#include <dlbridge/src/devices.cpp>
#include <dlbridge/src/python.cpp>
