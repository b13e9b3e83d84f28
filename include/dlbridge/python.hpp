// Umbrella header for extension modules without a binding library: everything that needs Python.h.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/dlbridge.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/python/call/argument.hpp>
#include <dlbridge/python/call/cast.hpp>
#include <dlbridge/python/call/def_dlpack.hpp>
#include <dlbridge/python/call/def_fast.hpp>
#include <dlbridge/python/call/or_other.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/capsule.hpp>
#include <dlbridge/python/devices.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/export/buffer.hpp>
#include <dlbridge/python/export/produce.hpp>
#include <dlbridge/python/export/type_exchange_table.hpp>
#include <dlbridge/python/import/buffers.hpp>
#include <dlbridge/python/import/import_tensor.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>
