// transfer, transfer_into: copy a tensor into new or existing memory of a device or of the host, in
// the order of a stream.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

/// Options of transfer. The two flags are guarantees of the caller, which avoid waiting.
struct DLBRIDGE_PUBLIC transfer_options {
  /// The struct kind of the new tensor.
  struct_kind kind = struct_kind::versioned;
  /// The source exists until the stream has completed the copy. Otherwise the host waits for it.
  bool source_outlives_copy = false;
  /// The stream exists as long as the new tensor. The tensor's memory is then allocated and freed
  /// in the order of the stream.
  bool stream_outlives_tensor = false;
  /// The new tensor is row-major. Otherwise it has the order of dimensions of a source without
  /// gaps, which one call of the driver copies.
  bool row_major = false;
};

/// Copies the elements of a tensor into a new tensor on a device. The current context or device of
/// this thread stays the same.
/// @param driver the driver of the devices.
/// @param source a tensor with any strides.
/// @param where a device of CUDA or ROCm, pinned or managed memory, or the CPU.
/// @param stream a stream of either device, on which the source is ready.
/// @param options guarantees of the caller that avoid waiting, and the struct kind.
/// @return a writable compact tensor that is marked as copied. It has the order of dimensions of a
/// source without gaps, unless the options request a row-major one, and is row-major otherwise. In
/// host memory, the unused bits after the last packed element are 0.
/// @throws error device_mismatch (the driver does not copy between the devices), bad_stream (a
/// stream of another runtime), capturing (the stream is being captured; nothing is enqueued),
/// not_permitted (called by a host function that runs on a stream), overflow (the size of the copy
/// exceeds 64 bits), out_of_memory, runtime_missing, runtime_failed, version_mismatch (a legacy
/// struct cannot describe padded elements).
/// @par Ownership
/// The caller owns the new tensor, which owns its memory.
/// @par Lifetime
/// The source exists until the function returns, or as the options state.
/// @par Stream order
/// The copy runs after the operations that are on the stream. A tensor in host memory is ready when
/// the function returns; a tensor on a device is ready on the stream. The host waits for the stream
/// unless the options make that unnecessary, and never for the other streams of the device.
template <class Table>
DLBRIDGE_COLD DLBRIDGE_NOINLINE managed_tensor transfer(Table const& driver,
                                                        tensor_view const& source, device where,
                                                        stream_ref stream,
                                                        transfer_options const& options = {});

/// Copies the elements of a tensor into existing memory. During a capture, a copy of one block
/// within CUDA or ROCm becomes a node of the graph if source_outlives_copy is set.
///
/// The function writes only the bytes of the elements, so other operations may write those between
/// them at the same time. A copy through the host then takes one call for each block of rows of the
/// destination. Packed elements of fewer than 8 bits are the exception: unless the destination has
/// no gaps and fills its last byte, the function reads all bytes from its first to its last
/// element, and writes them back.
/// @param driver the driver of the devices.
/// @param source a tensor with any strides, which does not overlap the destination.
/// @param destination a tensor with any strides.
/// @param stream a stream of either device, on which both tensors are ready.
/// @param source_outlives_copy as in transfer_options.
/// @throws error as transfer; also dtype_mismatch, rank_mismatch, extent_mismatch, read_only,
/// layout_mismatch (elements of the destination may share memory).
/// @par Lifetime
/// Both tensors exist until the function returns; with source_outlives_copy until the copy is done.
/// @par Stream order
/// As transfer.
template <class Table>
void transfer_into(Table const& driver, tensor_view const& source, tensor_view const& destination,
                   stream_ref stream, bool source_outlives_copy = false);

/// Copies a tensor to a device in the same way, with the driver that the function selects.
managed_tensor transfer(tensor_view const& source, device where, stream_ref stream,
                        transfer_options const& options = {});
/// Copies into existing memory in the same way, with the driver that the function selects.
void transfer_into(tensor_view const& source, tensor_view const& destination, stream_ref stream,
                   bool source_outlives_copy = false);

namespace detail {
// Copies a tensor of host memory into new memory of the CPU.
DLBRIDGE_COLD managed_tensor copy_on_host(tensor_view const& source, device where,
                                          transfer_options const& options);

// Whether the memory at the destination of a copy is new, or that of an existing tensor, which may
// be any memory that the CPU can access.
enum class copy_target : std::uint8_t { new_memory, existing_memory };

// Finds the runtime whose driver copies between two devices; none if both are the CPU.
// Returns a report: device_mismatch, bad_stream.
DLBRIDGE_COLD report find_copy_path(device from, device to, stream_ref stream, runtime_kind& out,
                                    copy_target target = copy_target::new_memory) noexcept;
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/runtime/transfer.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/runtime/transfer.ipp>
#endif
