// prefetch, advise: move managed memory before it is used, and tell the driver how it will be used.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

/// How managed memory will be used. The values are those of CUmem_advise and hipMemoryAdvise, which
/// undo an advice with the next value.
enum class memory_advice : std::uint8_t {
  read_mostly = 1,         ///< Rarely written: each processor that reads keeps a copy.
  preferred_location = 3,  ///< Stays on the device where it can.
  accessed_by = 5          ///< The device maps the memory, wherever it lies.
};

/// Moves the pages of a tensor in managed memory to a device or to the CPU, in the order of a
/// stream. Results do not change: without the call, the pages move at their first use.
/// @param view a tensor in managed memory. The pages of the bytes between its elements move too.
/// @param where a device of the stream's runtime, or the CPU.
/// @param stream the stream, on which the call enqueues the operation.
/// @throws error runtime_missing, runtime_failed (for example because the memory is not managed).
/// @par Thread and GIL
/// Any thread. The call does not block.
void prefetch(tensor_view const& view, device where, stream_ref stream);

/// Tells the driver how the managed memory of a tensor will be used.
/// @param view a tensor in managed memory.
/// @param advice the use.
/// @param where the device that the advice is about, or the CPU; without a meaning for read_mostly.
/// @param is_set false undoes an earlier advice.
/// @throws error runtime_missing, runtime_failed (for example because the memory is not managed).
/// @note Any thread may call it.
void advise(tensor_view const& view, memory_advice advice, device where, bool is_set = true);

DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/runtime/managed_memory.ipp>
#endif
