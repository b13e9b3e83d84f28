// SPDX-License-Identifier: BSD-3-Clause
// fuzz_copies: copies tensors of any strides and dtypes, and compares every bit of the destination
// with a copier that moves one bit at a time.
#include <dlbridge/copy.hpp>
#include <dlbridge/validate.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "bit_memory.hpp"
#include "input.hpp"

namespace {

using dlbridge::errc;
using dlbridge::managed_tensor;

/// The bytes from the lowest to the highest element, relative to the first one.
struct extent_of_bytes {
  std::int64_t first = 0;
  std::int64_t end = 0;
};

extent_of_bytes bytes_of(strided const& s) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (std::int64_t const each : s.positions()) {
    low = std::min(low, each);
    high = std::max(high, each + s.pitch());
  }
  return {-((7 - low) / 8), (high + 7) / 8};
}

/// Memory of exactly the bytes that the elements occupy, with bytes of the input.
struct memory {
  exact_array<unsigned char> block;
  std::int64_t size = 0;

  memory(input& in, std::int64_t bytes) : size(bytes) {
    block = make_exact<unsigned char>(static_cast<std::size_t>(bytes));
    std::uint32_t state = in.bits<std::uint16_t>() + 1U;
    for (std::int64_t i = 0; i < bytes; ++i) {
      state = state * 1664525U + 1013904223U;
      block[static_cast<std::size_t>(i)] = static_cast<unsigned char>(state >> 24);
    }
  }
  std::vector<unsigned char> snapshot() const { return {block.get(), block.get() + size}; }
};

/// The elements in row-major order, each with its padding bits and in bytes of its own. `base` is
/// the bit of the first element.
std::vector<unsigned char> elements_of(strided const& s, unsigned char const* from,
                                       std::int64_t base) {
  auto const size = static_cast<std::size_t>(s.bytes());
  std::vector<unsigned char> all(static_cast<std::size_t>(s.count()) * size);
  unsigned char* next = all.data();
  for (std::int64_t const position : s.positions()) {
    move_bits(from, base + position, next, 0, s.pitch());
    next += size;
  }
  return all;
}

/// Whether two elements share a bit.
bool has_overlap(strided const& s) {
  std::vector<std::int64_t> positions = s.positions();
  std::sort(positions.begin(), positions.end());
  return std::adjacent_find(positions.begin(), positions.end()) != positions.end();
}

/// Writes elements, which have bytes of their own, to what the destination must contain.
void write_naively(std::vector<unsigned char>& memory, strided const& to, std::int64_t base,
                   std::vector<unsigned char> const& elements) {
  unsigned char const* next = elements.data();
  for (std::int64_t const position : to.positions()) {
    move_bits(next, 0, memory.data(), base + position, to.pitch());
    next += to.bytes();
  }
}

void copy_to_new(input& in, strided source) {
  auto const range = bytes_of(source);
  memory const from(in, range.end - range.first);
  auto const before = from.snapshot();
  DLTensor const t = source.at(from.block.get() - range.first);
  auto const order = in.one_in(2) ? dlbridge::layout::column_major : dlbridge::layout::row_major;
  auto const kind = in.one_in(2) ? dlbridge::struct_kind::legacy : dlbridge::struct_kind::versioned;
  bool const is_refused =
      kind == dlbridge::struct_kind::legacy && source.is_padded && source.is_sub_byte();
  managed_tensor result;
  try {
    result = dlbridge::copy_of(dlbridge::view_of(t, source.flags()), order, kind);
  } catch (dlbridge::error const& e) {
    expect(is_refused && e.code() == errc::version_mismatch, "an unexpected refusal of copy_of");
    return;
  }
  expect(!is_refused, "copy_of must refuse");
  dlbridge::tensor_view const view = result.view();
  expect(view.rank() == source.rank && view.count() == source.count(), "shape of the copy");
  strided target = source;
  target.has_strides = true;
  order == dlbridge::layout::row_major ? target.set_row_major() : target.set_column_major();
  for (int i = 0; i < source.rank; ++i) {
    expect(view.extent(i) == source.shape[i], "extent of the copy");
    expect(source.count() == 0 || view.stride(i) == target.strides[i], "stride of the copy");
  }
  expect(kind == dlbridge::struct_kind::legacy || view.is_copied(), "flag of the copy");
  expect(source.count() == 0 || reinterpret_cast<std::uintptr_t>(view.data()) % 64 == 0,
         "alignment of the copy");
  auto const* const data = static_cast<unsigned char const*>(view.data());
  expect(elements_of(target, data, 0) == elements_of(source, before.data(), -range.first * 8),
         "elements of the copy");
  expect(from.snapshot() == before, "copy_of does not write to the source");
}

/// Copies between two tensors of one memory block, which may overlap, or of two blocks.
void copy_to_other(input& in, strided source) {
  strided target = source;
  target.is_padded = in.one_in(3);
  choose_strides(in, target);
  auto const from_range = bytes_of(source);
  auto const to_range = bytes_of(target);
  bool const shares = in.one_in(2);
  std::int64_t const shift = shares ? in.between(0, 40) : 0;
  std::int64_t const from_size = from_range.end - from_range.first;
  std::int64_t const to_size = to_range.end - to_range.first;
  memory const first(in, shares ? std::max(from_size, to_size + shift) : from_size);
  memory const second(in, shares ? 1 : to_size);
  unsigned char* const to_block = shares ? first.block.get() + shift : second.block.get();
  DLTensor const a = source.at(first.block.get() - from_range.first);
  DLTensor const b = target.at(to_block - to_range.first);

  auto const before = first.snapshot();
  std::vector<unsigned char> expected = shares ? before : second.snapshot();
  auto elements = elements_of(source, before.data(), -from_range.first * 8);
  if (source.is_sub_byte() && !(source.is_padded && target.is_padded)) {  // padding becomes 0
    auto const last = static_cast<unsigned char>((1U << (source.bits() % 8)) - 1);
    for (auto i = static_cast<std::size_t>(source.bytes()) - 1; i < elements.size();
         i += static_cast<std::size_t>(source.bytes())) {
      elements[i] = static_cast<unsigned char>(elements[i] & last);
    }
  }
  bool const overlaps = has_overlap(target);
  if (!overlaps) {
    write_naively(expected, target, (shift - to_range.first) * 8, elements);
  }
  try {
    dlbridge::copy(dlbridge::view_of(a, source.flags()), dlbridge::view_of(b, target.flags()));
    expect(!overlaps || source.count() == 0, "copy accepts elements that share memory");
    expect((shares ? first : second).snapshot() == expected, "bytes of the destination");
  } catch (dlbridge::error const& e) {
    expect(e.code() == errc::layout_mismatch && target.has_strides, "an unexpected refusal");
    expect(first.snapshot() == before, "a refused copy writes nothing");
  }
  expect(shares || first.snapshot() == before, "copy does not write to the source");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  input in(data, size);
  bool const is_new = in.one_in(2);
  strided source = any_strided(in);
  choose_strides(in, source);
  is_new ? copy_to_new(in, source) : copy_to_other(in, source);
  return 0;
}
