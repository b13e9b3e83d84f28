// copy_plainly, copy_packed, build_for_copy and clear_unused_bits: copy without kernels, which not
// every module needs to compile, and prepare the memory of a copy.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/requirement.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
void copy_packed(tensor_view const& source, tensor_view const& destination) noexcept;

// Clears the bits after the last packed element of a compact tensor in host memory: a copy of bytes
// writes those of the source there, and new memory is not initialized.
DLBRIDGE_COLD void clear_unused_bits(tensor_view const& view) noexcept;

// Allocates a tensor of the shape of source, for elements of another dtype.
managed_tensor build_for_copy(tensor_view const& source, dtype type, layout order, struct_kind kind,
                              host_allocator const& memory);
// Allocates the tensor that copy_of returns.
managed_tensor build_for_copy(tensor_view const& source, layout order, struct_kind kind,
                              host_allocator const& memory);

// Copies elements that begin at byte addresses.
void copy_whole(tensor_view const& source, tensor_view const& destination) noexcept;

// Copies to a row-major tensor in new host memory, as copy_of does with kernels.
// @throws error as copy_of.
managed_tensor copy_plainly(tensor_view const& source, struct_kind kind);
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/detail/copy_plainly.ipp>
#endif
