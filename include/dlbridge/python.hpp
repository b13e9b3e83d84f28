// The door for extension modules without pybind11: everything that needs Python.h. It holds nothing
// but includes.
#pragma once

#include <dlbridge/dlbridge.hpp>
#include <dlbridge/python/argument.hpp>
#include <dlbridge/python/buffers.hpp>
#include <dlbridge/python/capsule.hpp>
#include <dlbridge/python/consume.hpp>
#include <dlbridge/python/devices.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/fast.hpp>
#include <dlbridge/python/functions.hpp>
#include <dlbridge/python/intake.hpp>
#include <dlbridge/python/interp.hpp>
#include <dlbridge/python/origin.hpp>
#include <dlbridge/python/other_protocols.hpp>
#include <dlbridge/python/owner.hpp>
#include <dlbridge/python/parameter.hpp>
#include <dlbridge/python/produce.hpp>
#include <dlbridge/python/results.hpp>
#include <dlbridge/python/scalar.hpp>
#include <dlbridge/python/signature.hpp>
#include <dlbridge/python/slots.hpp>
#include <dlbridge/python/tensor_full.hpp>
#include <dlbridge/python/tensor_type.hpp>
#include <dlbridge/python/text_types.hpp>
#include <dlbridge/python/values.hpp>
