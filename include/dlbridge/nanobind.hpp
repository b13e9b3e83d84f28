// Umbrella header for extension authors who use nanobind.
#pragma once

#include <dlbridge/dlbridge.hpp>
#include <dlbridge/python/nanobind/casters.hpp>
#include <dlbridge/python/nanobind/def.hpp>
#include <dlbridge/python/nanobind/def_dlpack.hpp>
#include <dlbridge/python/nanobind/def_fast.hpp>
#include <dlbridge/python/nanobind/errors.hpp>
#include <dlbridge/python/nanobind/objects.hpp>
