// Umbrella header for extension authors who use nanobind.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/dlbridge.hpp>
#include <dlbridge/python/nanobind/casters.hpp>
#include <dlbridge/python/nanobind/def.hpp>
#include <dlbridge/python/nanobind/def_dlpack.hpp>
#include <dlbridge/python/nanobind/def_fast.hpp>
#include <dlbridge/python/nanobind/errors.hpp>
#include <dlbridge/python/nanobind/objects.hpp>
