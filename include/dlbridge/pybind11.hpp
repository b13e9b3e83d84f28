// Umbrella header for extension authors who use pybind11.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/pybind11/detail/requires_full_api.hpp>
#if !defined(Py_LIMITED_API)
#include <dlbridge/dlbridge.hpp>
#include <dlbridge/python/pybind11/casters.hpp>
#include <dlbridge/python/pybind11/def.hpp>
#include <dlbridge/python/pybind11/def_dlpack.hpp>
#include <dlbridge/python/pybind11/def_fast.hpp>
#include <dlbridge/python/pybind11/errors.hpp>
#include <dlbridge/python/pybind11/objects.hpp>
#endif
