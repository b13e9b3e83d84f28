// The inline bodies of validate.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <dlbridge/validate.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
// The strides that stand for null strides in is_ordinary_memory. The elements then reach no further
// than their number.
DLBRIDGE_LOCAL inline constexpr std::int64_t no_steps[8] = {};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
// GCC 12 with -Os warns of the loop where the rank is known to be 0, which does not enter it.
#pragma GCC diagnostic ignored "-Waggressive-loop-optimizations"
#endif
template <bool RowMajor>
bool is_ordinary_memory(DLTensor const& t) noexcept {
  auto const base = reinterpret_cast<std::uintptr_t>(t.data);
  if (sizeof(base) != 8 || base == 0 || base > UINTPTR_MAX / 2) {
    return false;  // addresses of 32 bits are too short for some of these sizes
  }
  std::uint64_t sizes = t.byte_offset;
  std::uint64_t count = 1;
  std::uint64_t reach = 0;
  std::uint64_t gaps = 0;
  if (t.ndim != 0) {
    if (static_cast<std::uint32_t>(t.ndim) > 8 || t.shape == nullptr) {
      return false;
    }
    std::int64_t const* const strides = t.strides != nullptr ? t.strides : no_steps;
    std::ptrdiff_t i = t.ndim;  // from the last dimension on, which saves a comparison
    do {
      auto const extent = static_cast<std::uint64_t>(t.shape[i - 1]);
      auto const step = static_cast<std::uint64_t>(strides[i - 1]);
      gaps |= RowMajor && extent != 1 ? step ^ count : 0;
      count *= extent;
      sizes |= extent | step | count;
      reach += extent * step;
    } while (--i != 0);
  }
  return (sizes | reach | (count - 1)) >> 31 == 0 && (gaps == 0 || t.strides == nullptr);
}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

report check_extents(int rank, std::int64_t const* extents) noexcept {
  bool is_negative = false;
  for (int i = 0; rank <= max_rank && i < rank; ++i) {
    is_negative = is_negative || extents[i] < 0;
  }
  report r;
  if (rank > max_rank || is_negative) {
    r = refusal(errc::bad_argument, is_negative ? "extents of 0 and above" : "at most 64 extents",
                "shape ");
    append_extents(r.got, rank, extents);
  }
  return r;
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE
