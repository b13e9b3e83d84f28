// The bodies of runtime/, which units with DLBRIDGE_COMPILED link.
// SPDX-License-Identifier: BSD-3-Clause
#if !defined(DLBRIDGE_COMPILED)
#define DLBRIDGE_COMPILED
#endif

#include <dlbridge/runtime/cuda.ipp>
#include <dlbridge/runtime/cuda_context.ipp>
#include <dlbridge/runtime/detail/block_plan.ipp>
#include <dlbridge/runtime/detail/cuda_copies.ipp>
#include <dlbridge/runtime/detail/device_copy.ipp>
#include <dlbridge/runtime/detail/driver.ipp>
#include <dlbridge/runtime/detail/driver_errors.ipp>
#include <dlbridge/runtime/detail/events.ipp>
#include <dlbridge/runtime/detail/library.ipp>
#include <dlbridge/runtime/detail/memory.ipp>
#include <dlbridge/runtime/detail/retired.ipp>
#include <dlbridge/runtime/detail/stream_uses.ipp>
#include <dlbridge/runtime/hip.ipp>
#include <dlbridge/runtime/managed_memory.ipp>
#include <dlbridge/runtime/order.ipp>
#include <dlbridge/runtime/transfer.ipp>
#include <dlbridge/runtime/transfer_async.ipp>
