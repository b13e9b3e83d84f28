// Plans the copy of a strided tensor as equal blocks of rows, and computes the bytes that a tensor
// covers. Pure arithmetic: no driver is called.
// layer: runtime · how memory moves
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace detail {

// The bytes from the lowest element of a tensor to behind its highest, from data() on.
struct byte_range {
  std::int64_t first = 0;
  std::int64_t size = 0;
};

inline byte_range range_of(tensor_view const& view) noexcept {
  byte_range range;
  if (view.empty()) {
    return range;
  }
  std::int64_t low = 0;
  std::int64_t high = 0;
  static_cast<void>(try_reach(view.rank(), view.shape(), view.strides(), low, high));
  std::int64_t const pitch = bit_pitch(view);
  std::int64_t const first_bit = low * pitch;  // at or below 0
  range.first = -((7 - first_bit) / 8);
  range.size = (high * pitch + pitch + 7) / 8 - range.first;
  return range;
}

// Whether both lie in one block without gaps, element for element in the same order.
inline bool is_one_block(tensor_view const& source, tensor_view const& destination) noexcept {
  if (!source.is_compact() || !destination.is_compact() ||
      bit_pitch(source) != bit_pitch(destination)) {
    return false;
  }
  for (int i = 0; i < source.rank(); ++i) {
    if (source.extent(i) != 1 && source.stride(i) != destination.stride(i)) {
      return false;
    }
  }
  return true;
}

// Equal blocks of rows, at offsets that outer counts up; in bytes.
struct block_plan {
  std::int64_t width = 0;
  copy_dimension rows{1, 0, 0};
  copy_plan outer;          // its last dimension is empty of meaning, as for_each_row takes one
  std::int64_t copies = 1;  // how many blocks
};

// Not for packed elements, of which only is_one_block can be copied by bytes.
inline block_plan plan_blocks(tensor_view const& source, tensor_view const& destination) noexcept {
  std::int64_t const unit = element_bytes(source.dtype());
  constexpr std::int64_t most = INT32_MAX;  // a pitch that every device takes
  block_plan made;
  made.outer = plan_copy(source, destination, unit, unit);
  copy_plan& outer = made.outer;
  made.width = unit;
  if (outer.rank > 0) {
    copy_dimension const& inner = outer.dimensions[outer.rank - 1];
    if (inner.source == unit && inner.destination == unit) {
      made.width = unit * inner.extent;
      --outer.rank;
    }
  }
  int rows = -1;
  for (int i = 0; i < outer.rank; ++i) {
    copy_dimension const& each = outer.dimensions[i];
    bool const has_pitches = each.source >= made.width && each.source <= most &&
                             each.destination >= made.width && each.destination <= most;
    if (has_pitches && (rows < 0 || each.extent > outer.dimensions[rows].extent)) {
      rows = i;
    }
  }
  if (rows >= 0) {
    made.rows = outer.dimensions[rows];
    for (int i = rows + 1; i < outer.rank; ++i) {
      outer.dimensions[i - 1] = outer.dimensions[i];
    }
    --outer.rank;
  }
  for (int i = 0; i < outer.rank; ++i) {
    made.copies *= outer.dimensions[i].extent;
  }
  outer.dimensions[outer.rank++] = {1, 0, 0};
  return made;
}

}  // namespace detail
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
