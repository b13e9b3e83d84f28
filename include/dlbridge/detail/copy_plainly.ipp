// The bodies of copy_plainly.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <dlbridge/build.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/detail/copy_plainly.hpp>
#include <dlbridge/detail/copy_plan.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/version.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
// Copies one packed element from bit offset `from` to bit offset `to`. Element i occupies the bits
// [i * bits, (i + 1) * bits) of the memory in little-endian bit order (spec 1.5), so an element or
// a row may begin inside a byte.
inline void copy_bits(unsigned char const* source, std::int64_t from, unsigned char* destination,
                      std::int64_t to, std::int64_t bits) noexcept {
  for (std::int64_t i = 0; i < bits; ++i, ++from, ++to) {
    unsigned const bit = static_cast<unsigned>(source[from >> 3]) >> (from & 7) & 1U;
    unsigned char& byte = destination[to >> 3];
    byte = static_cast<unsigned char>((byte & ~(1U << (to & 7))) | bit << (to & 7));
  }
}

DLBRIDGE_API void copy_packed(tensor_view const& source, tensor_view const& destination) noexcept {
  copy_plan plan = plan_copy(source, destination, bit_pitch(source), bit_pitch(destination));
  if (plan.rank == 0) {
    plan.dimensions[plan.rank++] = {1, 0, 0};
  }
  auto const* const from = static_cast<unsigned char const*>(source.data());
  auto* const to = static_cast<unsigned char*>(const_cast<void*>(destination.data()));
  std::int64_t const bits = element_bits(source.dtype());
  bool const pads = destination.is_padded();
  copy_dimension const& row = plan.dimensions[plan.rank - 1];
  bool const is_dense = row.source == bits && row.destination == bits && !pads;
  for_each_row(plan, [&](std::int64_t s, std::int64_t d) noexcept {
    if (is_dense && s % 8 == 0 && d % 8 == 0) {
      std::int64_t const whole = row.extent * bits / 8;
      std::memcpy(to + d / 8, from + s / 8, static_cast<std::size_t>(whole));
      copy_bits(from, s + whole * 8, to, d + whole * 8, row.extent * bits % 8);
      return;
    }
    for (std::int64_t i = 0; i < row.extent; ++i, s += row.source, d += row.destination) {
      copy_bits(from, s, to, d, bits);
      if (pads) {  // clears the padding bits of the element
        unsigned char& last = to[(d + bits) >> 3];
        last = static_cast<unsigned char>(last & ((1U << (bits & 7)) - 1U));
      }
    }
  });
}

DLBRIDGE_NOINLINE DLBRIDGE_API void clear_unused_bits(tensor_view const& view) noexcept {
  std::int64_t const bits = view.count() * bit_pitch(view);
  if (bits % 8 != 0) {
    unsigned char& last = static_cast<unsigned char*>(const_cast<void*>(view.data()))[bits / 8];
    last = static_cast<unsigned char>(last & ((1U << (bits % 8)) - 1U));
  }
}

DLBRIDGE_API managed_tensor build_for_copy(tensor_view const& source, dtype type, layout order,
                                           struct_kind kind, host_allocator const& memory) {
  require_view(source, requirement{});
  if (order != layout::row_major && order != layout::column_major) {
    raise(refusal(errc::bad_argument, "row_major or column_major for a copy", "another layout"));
  }
  description d;
  d.type = type;
  d.shape = dims::from(source.shape(), static_cast<std::size_t>(source.rank()));
  if (order == layout::column_major) {
    std::int64_t strides[max_rank];
    fill_column_major(source.rank(), source.shape(), strides);
    d.strides = dims::from(strides, static_cast<std::size_t>(source.rank()));
  }
  d.flags = flag_is_copied | (source.flags() & flag_padded);
  return build_compact(d, kind, memory);
}

DLBRIDGE_API managed_tensor build_for_copy(tensor_view const& source, layout order,
                                           struct_kind kind, host_allocator const& memory) {
  return build_for_copy(source, source.dtype(), order, kind, memory);
}

DLBRIDGE_API void copy_whole(tensor_view const& source, tensor_view const& destination) noexcept {
  std::int64_t const unit = element_bytes(source.dtype());
  copy_plan plan = plan_copy(source, destination, unit, unit);
  auto const* const from = static_cast<char const*>(source.data());
  auto* const to = static_cast<char*>(const_cast<void*>(destination.data()));
  if (plan.rank == 0) {
    plan.dimensions[plan.rank++] = {1, unit, unit};
  }
  copy_dimension row = plan.dimensions[plan.rank - 1];
  std::int64_t bytes = unit;
  if (row.source == unit && row.destination == unit) {
    bytes = unit * row.extent;
    row.extent = 1;
  }
  for_each_row(plan, [&](std::int64_t s, std::int64_t d) noexcept {
    for (std::int64_t i = 0; i < row.extent; ++i, s += row.source, d += row.destination) {
      std::memcpy(to + d, from + s, static_cast<std::size_t>(bytes));
    }
  });
}

DLBRIDGE_API managed_tensor copy_plainly(tensor_view const& source, struct_kind kind) {
  managed_tensor result = build_for_copy(source, layout::row_major, kind, default_allocator());
  if (!source.empty()) {
    bool const packed = is_sub_byte(source.dtype()) && !source.is_padded();
    packed ? copy_packed(source, result.view()) : copy_whole(source, result.view());
  }
  return result;
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE
