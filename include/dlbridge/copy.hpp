// copy(source, destination) for any strides; on top of it copy_of: a fresh compact managed tensor,
// marked as copied, its memory from a callback.
// layer: arrays · side road: when memory must move
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <dlbridge/abi.hpp>
#include <dlbridge/builder.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

namespace detail {
// One dimension of a copy; steps in bytes, or in bits for packed elements.
struct copy_dimension {
  std::int64_t extent;
  std::int64_t source;
  std::int64_t destination;
};

struct copy_plan {
  int rank = 0;
  copy_dimension dimensions[max_rank];  // slowest first
};

// Drops dimensions of one element, sorts by the destination's step, and merges neighbours that
// nest on both sides: what is contiguous becomes one dimension, whatever it was called before.
inline copy_plan plan_copy(tensor_view const& source, tensor_view const& destination,
                           std::int64_t source_unit, std::int64_t destination_unit) noexcept {
  copy_plan plan;
  std::int64_t from[max_rank];
  std::int64_t to[max_rank];
  source.copy_strides(from);
  destination.copy_strides(to);
  for (int i = 0; i < source.rank(); ++i) {
    if (source.extent(i) == 1) {
      continue;
    }
    copy_dimension const added{source.extent(i), from[i] * source_unit, to[i] * destination_unit};
    auto const step = [](copy_dimension const& d) {
      return d.destination < 0 ? -d.destination : d.destination;
    };
    int at = plan.rank++;
    for (; at > 0 && step(plan.dimensions[at - 1]) < step(added); --at) {
      plan.dimensions[at] = plan.dimensions[at - 1];
    }
    plan.dimensions[at] = added;
  }
  int merged = 0;
  for (int i = 1; i < plan.rank; ++i) {
    copy_dimension& outer = plan.dimensions[merged];
    copy_dimension const& inner = plan.dimensions[i];
    if (outer.source == inner.extent * inner.source &&
        outer.destination == inner.extent * inner.destination) {
      outer = {outer.extent * inner.extent, inner.source, inner.destination};
    } else {
      plan.dimensions[++merged] = inner;
    }
  }
  plan.rank = plan.rank == 0 ? 0 : merged + 1;
  return plan;
}

// Visits all but the innermost dimension; row(source, destination) gets offsets in units.
template <class Row>
void for_each_row(copy_plan const& plan,
                  Row row) noexcept(noexcept(row(std::int64_t{}, std::int64_t{}))) {
  int const outer = plan.rank - 1;
  std::int64_t index[max_rank] = {};
  std::int64_t source = 0;
  std::int64_t destination = 0;
  for (;;) {
    row(source, destination);
    int i = outer - 1;
    for (; i >= 0; --i) {
      copy_dimension const& d = plan.dimensions[i];
      if (++index[i] < d.extent) {
        source += d.source;
        destination += d.destination;
        break;
      }
      source -= d.source * (d.extent - 1);
      destination -= d.destination * (d.extent - 1);
      index[i] = 0;
    }
    if (i < 0) {
      return;
    }
  }
}

template <std::size_t Bytes>
void copy_strided(char const* source, char* destination, copy_dimension const& row) noexcept {
  for (std::int64_t i = 0; i < row.extent; ++i) {
    std::memcpy(destination, source, Bytes);
    source += row.source;
    destination += row.destination;
  }
}

inline void copy_row(char const* source, char* destination, copy_dimension const& row,
                     std::size_t bytes) noexcept {
  auto const step = static_cast<std::int64_t>(bytes);
  if (row.source == step && row.destination == step) {
    std::memcpy(destination, source, static_cast<std::size_t>(row.extent) * bytes);
    return;
  }
  switch (bytes) {
    case 1:
      return copy_strided<1>(source, destination, row);
    case 2:
      return copy_strided<2>(source, destination, row);
    case 4:
      return copy_strided<4>(source, destination, row);
    case 8:
      return copy_strided<8>(source, destination, row);
    case 16:
      return copy_strided<16>(source, destination, row);
    default:
      break;
  }
  for (std::int64_t i = 0; i < row.extent; ++i) {
    std::memcpy(destination, source, bytes);
    source += row.source;
    destination += row.destination;
  }
}

inline void copy_elements(tensor_view const& source, tensor_view const& destination) noexcept {
  std::int64_t const unit = element_bytes(source.dtype());
  copy_plan plan = plan_copy(source, destination, unit, unit);
  if (plan.rank == 0) {
    plan.dimensions[plan.rank++] = {1, unit, unit};
  }
  auto const* const from = static_cast<char const*>(source.data());
  auto* const to = static_cast<char*>(const_cast<void*>(destination.data()));
  copy_dimension const& row = plan.dimensions[plan.rank - 1];
  for_each_row(plan, [&](std::int64_t s, std::int64_t d) noexcept {
    copy_row(from + s, to + d, row, static_cast<std::size_t>(unit));
  });
}

// Packed elements lie in little bit order: element i holds bits [i * bits, (i + 1) * bits) of the
// memory read as one little-endian number (spec 1.5). Steps of such tensors count elements of
// that many bits, also across rows that begin inside a byte.
inline void copy_bits(unsigned char const* source, std::int64_t from, unsigned char* destination,
                      std::int64_t to, std::int64_t bits) noexcept {
  for (std::int64_t i = 0; i < bits; ++i, ++from, ++to) {
    unsigned const bit = static_cast<unsigned>(source[from >> 3]) >> (from & 7) & 1U;
    unsigned char& byte = destination[to >> 3];
    byte = static_cast<unsigned char>((byte & ~(1U << (to & 7))) | bit << (to & 7));
  }
}

inline std::int64_t bit_pitch(tensor_view const& view) noexcept {
  return view.is_padded() ? element_bytes(view.dtype()) * 8 : element_bits(view.dtype());
}

inline void copy_packed(tensor_view const& source, tensor_view const& destination) noexcept {
  copy_plan plan = plan_copy(source, destination, bit_pitch(source), bit_pitch(destination));
  if (plan.rank == 0) {
    plan.dimensions[plan.rank++] = {1, 0, 0};
  }
  auto const* const from = static_cast<unsigned char const*>(source.data());
  auto* const to = static_cast<unsigned char*>(const_cast<void*>(destination.data()));
  std::int64_t const bits = element_bits(source.dtype());
  bool const pads = destination.is_padded();
  copy_dimension const& row = plan.dimensions[plan.rank - 1];
  for_each_row(plan, [&](std::int64_t s, std::int64_t d) noexcept {
    for (std::int64_t i = 0; i < row.extent; ++i, s += row.source, d += row.destination) {
      copy_bits(from, s, to, d, bits);
      if (pads) {  // what was there before is no part of the element
        unsigned char& last = to[(d + bits) >> 3];
        last = static_cast<unsigned char>(last & ((1U << (bits & 7)) - 1U));
      }
    }
  });
}

// Whether the bytes between the lowest and the highest element of both meet.
inline bool may_overlap(tensor_view const& a, tensor_view const& b) noexcept {
  auto const ends = [](tensor_view const& v, std::uintptr_t& first, std::uintptr_t& last) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    static_cast<void>(try_reach(v.rank(), v.shape(), v.strides(), low, high));
    std::int64_t const bytes = element_bytes(v.dtype());
    auto const base = reinterpret_cast<std::uintptr_t>(v.data());
    first = base + static_cast<std::uintptr_t>(low * bytes);
    last = base + static_cast<std::uintptr_t>((high + 1) * bytes);
  };
  std::uintptr_t first_a = 0, last_a = 0, first_b = 0, last_b = 0;
  ends(a, first_a, last_a);
  ends(b, first_b, last_b);
  return first_a < last_b && first_b < last_a;
}

// Refuses what the elements of source cannot be written to.
inline void require_destination(tensor_view const& source, tensor_view const& destination,
                                device_filter where) {
  requirement need;
  need.type = source.dtype();
  need.rank = source.rank();
  need.extents = source.shape();
  need.where = where;
  need.writable = true;
  require_view(destination, need);
  if (has_alias(destination.rank(), destination.shape(), destination.strides())) {
    std::int64_t strides[max_rank];
    destination.copy_strides(strides);
    report r = refusal(errc::layout_mismatch, "a destination whose elements are all apart",
                       name_of(destination).c_str());
    append_extents(r.got.append(" with strides "), destination.rank(), strides);
    raise(r);
  }
}

inline void copy_apart(tensor_view const& source, tensor_view const& destination) noexcept {
  bool const packed =
      is_sub_byte(source.dtype()) && !(source.is_padded() && destination.is_padded());
  packed ? copy_packed(source, destination) : copy_elements(source, destination);
}
}  // namespace detail

/// A new tensor with the elements of source, compact in the given order (row_major or column_major)
/// in memory of its own, aligned to 64 bytes, writable, marked is_copied. Sub-byte elements stay
/// packed or padded as they were.
/// fails: device_mismatch (the CPU cannot read it), bad_argument (another order), out_of_memory,
/// version_mismatch (legacy, and padded).
managed_tensor copy_of(tensor_view const& source, layout order = layout::row_major,
                       struct_kind kind = struct_kind::versioned,
                       host_allocator const& memory = default_allocator());

/// Copies all elements. Any strides, also negative ones and 0 in the source; the two may overlap.
/// Bit patterns are kept, also those of signalling NaNs; padding of elements that come packed is 0.
/// fails: dtype_mismatch, rank_mismatch, extent_mismatch, device_mismatch (the CPU must reach
/// both), read_only, layout_mismatch (elements of destination that share memory), out_of_memory
/// (overlap).
inline void copy(tensor_view const& source, tensor_view const& destination) {
  require_view(source, requirement{});
  detail::require_destination(source, destination, device_filter{});
  if (source.empty()) {
    return;
  }
  if (detail::may_overlap(source, destination)) {
    managed_tensor const apart = copy_of(source);
    detail::copy_apart(apart.view(), destination);
    return;
  }
  detail::copy_apart(source, destination);
}

inline managed_tensor copy_of(tensor_view const& source, layout order, struct_kind kind,
                              host_allocator const& memory) {
  require_view(source, requirement{});
  if (order != layout::row_major && order != layout::column_major) {
    raise(refusal(errc::bad_argument, "row_major or column_major for a copy", "another layout"));
  }
  description d;
  d.type = source.dtype();
  d.shape = dims::from(source.shape(), static_cast<std::size_t>(source.rank()));
  if (order == layout::column_major) {
    std::int64_t strides[max_rank];
    fill_column_major(source.rank(), source.shape(), strides);
    d.strides = dims::from(strides, static_cast<std::size_t>(source.rank()));
  }
  d.flags = flag_is_copied | (source.flags() & flag_padded);
  managed_tensor made = detail::build_compact(d, kind, memory);
  if (!source.empty()) {
    detail::copy_apart(source, made.view());
  }
  return made;
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
