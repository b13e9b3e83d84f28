// copy_elements: copies elements that begin at byte addresses, by runs, transposed tiles or single
// elements.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/detail/copy_kernel.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
inline namespace DLBRIDGE_COPY_KERNELS {
// How to copy. Tests choose each kernel, and a small size to stream from.
struct copy_method {
  copy_kernel kernel;
  std::int64_t stream_from;  // in bytes of elements: a copy of this size leaves the cache anyway
  bool is_new = false;       // whether the memory of the destination was allocated for the copy

  static copy_method best() noexcept;
  static copy_method to_new_memory() noexcept;

  bool streams(std::int64_t bytes) const noexcept { return bytes >= stream_from; }
  // Whether contiguous memory and repeated elements are stored past the cache. New memory of 30 to
  // 256 MiB is partly in the cache, as the system clears each page at the first store to it.
  bool streams_block(std::int64_t bytes) const noexcept;
};

void copy_elements(tensor_view const& source, tensor_view const& destination,
                   copy_method const& method = copy_method::best()) noexcept;
}  // namespace DLBRIDGE_COPY_KERNELS
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/detail/copy_elements.ipp>
#endif
