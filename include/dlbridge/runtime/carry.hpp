// carry: puts the elements of one tensor into another on a lane, in as few blocks of rows as a
// driver can copy at once, or by way of the host.
// floor 8 · side road: when memory must move
#pragma once

#include <cstddef>
#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/runtime/driver.hpp>
#include <dlbridge/runtime/lane.hpp>
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

// The bytes that a tensor lies in, on the host: at first not set.
template <class Table>
class host_mirror {
 public:
  host_mirror(transfer_lane<Table>& lane, tensor_view const& of, memory_side side)
      : lane_(lane),
        of_(of),
        side_(side),
        range_(range_of(of)),
        buffer_(static_cast<std::size_t>(range_.size), default_allocator()),
        mirrored_(of.to_dltensor()) {
    mirrored_.data = static_cast<char*>(buffer_.memory) - range_.first;
    mirrored_.device = cpu.abi();
  }
  host_mirror(host_mirror const&) = delete;
  host_mirror& operator=(host_mirror const&) = delete;
  ~host_mirror() { lane_.drain(); }

  tensor_view view() const noexcept { return tensor_view(mirrored_, of_.flags()); }

  void fetch() {
    block_copy block{buffer_.memory, begin(), static_cast<std::size_t>(range_.size)};
    block.to_side = memory_side::host;
    block.from_side = side_;
    lane_.copy(block);
    lane_.wait();
  }
  void store() {
    block_copy block{begin(), buffer_.memory, static_cast<std::size_t>(range_.size)};
    block.to_side = side_;
    block.from_side = memory_side::host;
    lane_.copy(block);
    lane_.wait();
  }

 private:
  char* begin() const noexcept {
    return static_cast<char*>(const_cast<void*>(of_.data())) + range_.first;
  }

  transfer_lane<Table>& lane_;
  tensor_view of_;
  memory_side side_;
  byte_range range_;
  host_buffer buffer_;
  DLTensor mirrored_;
};

inline bool is_packed(tensor_view const& source, tensor_view const& destination) noexcept {
  return is_sub_byte(source.dtype()) && !(source.is_padded() && destination.is_padded());
}
inline bool fills_bytes(tensor_view const& view) noexcept {
  return view.count() * bit_pitch(view) % 8 == 0;
}

// What no block copy can do: the CPU puts the elements in place, in a mirror of each device's side.
template <class Table>
void carry_by_host(transfer_lane<Table>& lane, tensor_view const& source, memory_side from,
                   tensor_view const& destination, memory_side to, bool is_fresh) {
  lane.require_no_capture();
  if (from != memory_side::host) {
    host_mirror<Table> mirror(lane, source, from);
    mirror.fetch();
    carry_by_host(lane, mirror.view(), memory_side::host, destination, to, is_fresh);
    return;
  }
  lane.wait();  // for what was enqueued on memory of the host
  if (to == memory_side::host) {
    copy_apart(source, destination);
    return;
  }
  host_mirror<Table> mirror(lane, destination, to);
  if (!is_fresh && !(destination.is_compact() && fills_bytes(destination))) {
    mirror.fetch();  // what lies between the elements stays as it is
  }
  copy_apart(source, mirror.view());
  mirror.store();
}

template <class Table>
void carry_blocks(transfer_lane<Table>& lane, block_plan const& plan, tensor_view const& source,
                  memory_side from, tensor_view const& destination, memory_side to) {
  auto const* const source_data = static_cast<char const*>(source.data());
  auto* const destination_data = static_cast<char*>(const_cast<void*>(destination.data()));
  block_copy block{};
  block.width = static_cast<std::size_t>(plan.width);
  block.height = static_cast<std::size_t>(plan.rows.extent);
  block.from_pitch = static_cast<std::size_t>(plan.rows.source);
  block.to_pitch = static_cast<std::size_t>(plan.rows.destination);
  block.from_side = from;
  block.to_side = to;
  for_each_row(plan.outer, [&](std::int64_t s, std::int64_t d) {
    block.from = source_data + s;
    block.to = destination_data + d;
    lane.copy(block);
  });
}

// Copies all elements; neither is empty. Fresh memory has nothing in it that is to be kept.
template <class Table>
void carry(transfer_lane<Table>& lane, tensor_view const& source, tensor_view const& destination,
           bool is_fresh) {
  device const source_device = lane.locate(source);
  device const destination_device = lane.locate(destination);
  memory_side const from = side_of(source_device);
  memory_side const to = side_of(destination_device);
  if (from == memory_side::host && to == memory_side::host) {
    carry_by_host(lane, source, from, destination, to, is_fresh);
    return;
  }
  bool const is_peer = from == memory_side::device && to == memory_side::device &&
                       source_device != destination_device;
  bool const packed = is_packed(source, destination);
  if (is_one_block(source, destination) && (is_fresh || !packed || fills_bytes(source))) {
    auto const bytes = static_cast<std::size_t>(range_of(source).size);
    void* const target = const_cast<void*>(destination.data());
    if (is_peer) {
      lane.copy_peer(target, destination_device, source.data(), source_device, bytes);
    } else {
      block_copy block{target, source.data(), bytes};
      block.to_side = to;
      block.from_side = from;
      lane.copy(block);
    }
    return;
  }
  if (!packed && !is_peer) {
    // Past so many calls the detour is shorter. A call is as dear as some ten thousand bytes.
    std::int64_t const detour = range_of(source).size + range_of(destination).size;
    block_plan const plan = plan_blocks(source, destination);
    if (plan.copies <= 16 + detour / 32768) {
      carry_blocks(lane, plan, source, from, destination, to);
      return;
    }
  }
  carry_by_host(lane, source, from, destination, to, is_fresh);
}

}  // namespace detail
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
