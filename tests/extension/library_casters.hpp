// The casters of the binding library for strings and containers of the standard library.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "library.hpp"

#if defined(WITH_NANOBIND)
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>
#else
#include <pybind11/stl.h>
#endif
