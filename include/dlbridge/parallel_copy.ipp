// The bodies of parallel_copy.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/detail/copy_registers.ipp>
#include <dlbridge/layout.hpp>
#include <dlbridge/parallel_copy.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
DLBRIDGE_API std::int64_t copy_division::first(int part) const noexcept {
  std::int64_t const each = grains() / parts;
  std::int64_t const longer = grains() % parts;  // the parts with one grain more
  std::int64_t const index = (each * part + (part < longer ? part : longer)) * grain;
  return index < extent ? index : extent;
}

// The least power of two of indices that advance by a cache line or more, `least` of them or more.
// A stride of 0 does not advance.
inline std::int64_t indices_of_line(std::int64_t least, std::int64_t extent, std::int64_t stride,
                                    std::int64_t pitch) noexcept {
  constexpr std::int64_t line = 64 * 8;  // in bits, as pitch
  std::int64_t const step = (stride < 0 ? -stride : stride) * pitch;
  while (least < extent && step != 0 && least * step < line) {
    least *= 2;
  }
  return least;
}

DLBRIDGE_API copy_division divide_copy(tensor_view const& source, tensor_view const& destination,
                                       int parts) noexcept {
  std::int64_t from[max_rank];
  std::int64_t to[max_rank];
  source.copy_strides(from);
  destination.copy_strides(to);
  std::int64_t const from_pitch = bit_pitch(source);
  std::int64_t const to_pitch = bit_pitch(destination);
  bool const packed = to_pitch % 8 != 0;
  std::int64_t const least = packed || from_pitch % 8 != 0 ? 8 : 1;
  copy_division best;
  for (int i = 0; packed && i < destination.rank(); ++i) {
    if (destination.extent(i) > 1 && to[i] < 0) {
      return best;  // the lowest bit of a part is not that of its first index
    }
  }
  int order[max_rank];
  std::int64_t most = 1;
  for (int i = sort_by_step(destination.rank(), destination.shape(), to, order); i-- > 0;) {
    int const dimension = order[i];
    copy_division division{1, dimension, destination.extent(dimension), least};
    division.grain = indices_of_line(least, division.extent, to[dimension], to_pitch);
    division.grain = indices_of_line(division.grain, division.extent, from[dimension], from_pitch);
    if (division.grains() > most) {
      best = division;
      most = division.grains();
      best.parts = most < parts ? static_cast<int>(most) : parts;
    }
    if (most >= std::int64_t{8} * parts || (packed && to[dimension] * to_pitch % 8 != 0)) {
      break;  // in the second case, faster dimensions begin inside a byte
    }
  }
  return best;
}

inline namespace DLBRIDGE_COPY_KERNELS {
DLBRIDGE_API copy_method method_of_parts(std::int64_t bytes) noexcept {
  copy_method method = copy_method::best();
  method.stream_from = bytes >= method.stream_from ? 0 : INT64_MAX;
  return method;
}
}  // namespace DLBRIDGE_COPY_KERNELS

DLBRIDGE_API int useful_parts(tensor_view const& source, int parts) noexcept {
  std::int64_t const most = source.count() * element_bytes(source.dtype()) / least_bytes_of_part;
  return most < parts ? static_cast<int>(most) : parts;
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE
