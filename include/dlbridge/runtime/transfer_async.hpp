// transfer_async: copy a tensor into new memory without waiting for the copy.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/array_traits.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/runtime/detail/retired.hpp>
#include <dlbridge/runtime/transfer.hpp>
#include <dlbridge/shared_tensor.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

/// Copies the elements of a tensor into a new tensor on a device, and returns without waiting for
/// the copy. The current context or device of this thread stays the same.
///
/// The function waits like transfer where a copy cannot run without the host: if `where` is the
/// CPU, whose memory is pageable (request pinned memory instead); if both tensors are in host
/// memory; for packed elements that do not fill the last byte in host memory; and for layouts of so
/// many pieces that the CPU rearranges them. Of pageable memory above 16 MiB it enqueues a copy,
/// for which CUDA itself may wait.
/// @param driver the driver of the devices.
/// @param owner the owner of the source, which is kept until the copy has completed; empty if the
/// source outlives the copy.
/// @param source a tensor with any strides, of the owner. Pageable memory is read before the
/// function returns, without waiting for the stream.
/// @param where a device of CUDA or ROCm, pinned or managed memory, or the CPU.
/// @param stream a stream of either device, on which the source is ready.
/// @param options as for transfer; source_outlives_copy has no effect.
/// @return as transfer. The tensor is ready on the stream, also in pinned memory: see host_wait.
/// @throws error as transfer.
/// @par Lifetime
/// A later allocation, transfer or free of this module releases the source, on any thread.
/// @par Stream order
/// The copy runs after the operations that are on the stream.
/// @par Thread and GIL
/// Any thread. The release of the source runs its deleter.
template <class Table>
DLBRIDGE_COLD DLBRIDGE_NOINLINE managed_tensor transfer_async(Table const& driver,
                                                              shared_tensor const& owner,
                                                              tensor_view const& source,
                                                              device where, stream_ref stream,
                                                              transfer_options const& options = {});

/// Copies a tensor to a device in the same way, with the driver that the function selects.
managed_tensor transfer_async(shared_tensor const& owner, tensor_view const& source, device where,
                              stream_ref stream, transfer_options const& options = {});

/// Releases the sources of copies that have completed, and frees the memory whose free a capture
/// has deferred and no longer forbids. Every allocation, transfer and free does the same.
/// @par Thread and GIL
/// Any thread. The releases run deleters.
inline void release_completed() noexcept { detail::retired_owners().collect(); }

DLBRIDGE_END_NAMESPACE

#include <dlbridge/runtime/transfer_async.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/runtime/transfer_async.ipp>
#endif
