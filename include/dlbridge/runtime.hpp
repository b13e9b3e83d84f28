// Umbrella header for devices, whose drivers are loaded at run time: ordering of streams, and
// copies between devices and the host. Hints on managed memory are in a header of their own,
// runtime/managed_memory.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/cuda_context.hpp>
#include <dlbridge/runtime/hip.hpp>
#include <dlbridge/runtime/order.hpp>
#include <dlbridge/runtime/transfer.hpp>
#include <dlbridge/runtime/transfer_async.hpp>
