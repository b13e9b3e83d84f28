// strided, move_bits: locate the bits of each element of a strided tensor with
// naive arithmetic; element i of packed elements occupies the bits from i * bits on (spec 1.5).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "enumerate.hpp"
#include "input.hpp"

/// The dtype, the shape and the strides of a small tensor.
struct strided {
  DLDataType type{kDLFloat, 32, 1};
  bool is_padded = false;
  int rank = 0;
  std::int64_t shape[4] = {};
  std::int64_t strides[4] = {};
  bool has_strides = true;  // false: the struct has none, and strides has the row-major ones

  std::int64_t bits() const { return std::int64_t{type.bits} * type.lanes; }
  std::int64_t bytes() const { return (bits() + 7) / 8; }
  /// The distance, in bits, between elements with a stride of 1.
  std::int64_t pitch() const { return is_padded ? bytes() * 8 : bits(); }
  bool is_sub_byte() const { return bits() % 8 != 0; }
  std::int64_t count() const {
    std::int64_t product = 1;
    for (int i = 0; i < rank; ++i) {
      product *= shape[i];
    }
    return product;
  }
  void set_row_major() {
    std::int64_t step = 1;
    for (int i = rank; i-- > 0;) {
      strides[i] = step;
      step *= shape[i] == 0 ? 1 : shape[i];
    }
  }
  void set_column_major() {
    std::int64_t step = 1;
    for (int i = 0; i < rank; ++i) {
      strides[i] = step;
      step *= shape[i] == 0 ? 1 : shape[i];
    }
  }
  std::int64_t offset(std::int64_t const* index) const {
    std::int64_t sum = 0;
    for (int i = 0; i < rank; ++i) {
      sum += index[i] * strides[i];
    }
    return sum;
  }
  /// The first bits of all elements, in row-major order of the indices.
  std::vector<std::int64_t> positions() const {
    std::vector<std::int64_t> all;
    all.reserve(40);
    for_each_index(rank, shape, [&](std::int64_t const* i) { all.push_back(offset(i) * pitch()); });
    return all;
  }
  DLTensor at(void* data) {
    DLTensor t{};
    t.data = data;
    t.device = {kDLCPU, 0};
    t.ndim = rank;
    t.dtype = type;
    t.shape = shape;
    t.strides = has_strides ? strides : nullptr;
    return t;
  }
  std::uint64_t flags() const { return is_padded ? 4 : 0; }
};

inline DLDataType type_to_copy(input& in) {
  constexpr DLDataType types[] = {
      {kDLUInt, 8, 1},      {kDLFloat, 16, 1}, {kDLFloat, 32, 1}, {kDLFloat, 64, 1},
      {kDLComplex, 128, 1}, {kDLUInt, 8, 3},   {kDLInt, 16, 3},   {kDLFloat, 64, 3},
      {kDLInt, 4, 1},       {kDLUInt, 1, 1},   {kDLUInt, 2, 1},   {15, 6, 1},
      {17, 4, 2},           {kDLInt, 12, 1},   {kDLUInt, 4, 3},   {kDLUInt, 17, 1}};
  return in.pick(types);
}

/// A shape of at most 40 elements, and strides of any sign.
inline strided any_strided(input& in) {
  strided s;
  s.type = type_to_copy(in);
  s.is_padded = in.one_in(3);
  s.rank = in.between(0, 4);
  std::int64_t count = 1;
  for (int i = 0; i < s.rank; ++i) {
    s.shape[i] = in.one_in(20) ? 0 : in.between(1, 5);
    if (count * s.shape[i] > 40) {
      s.shape[i] = 1;
    }
    count *= s.shape[i] == 0 ? 1 : s.shape[i];
  }
  return s;
}

inline void choose_strides(input& in, strided& s) {
  int const choice = in.between(0, 4);
  s.has_strides = choice != 0;
  s.set_row_major();
  if (choice == 1) {
    s.set_column_major();
  }
  if (choice == 2) {  // gaps between rows, and reversed dimensions
    for (int i = 0; i < s.rank; ++i) {
      s.strides[i] *= in.one_in(3) ? -1 : in.one_in(3) ? 2 : 1;
    }
  }
  if (choice > 2) {
    for (int i = 0; i < s.rank; ++i) {
      s.strides[i] = in.between(-9, 24);
    }
  }
}

/// Moves bits one at a time, or whole bytes one at a time, between blocks that do not overlap.
inline void move_bits(unsigned char const* from, std::int64_t from_bit, unsigned char* to,
                      std::int64_t to_bit, std::int64_t count) {
  if (from_bit % 8 == 0 && to_bit % 8 == 0 && count % 8 == 0) {
    for (std::int64_t i = 0; i < count / 8; ++i) {
      to[to_bit / 8 + i] = from[from_bit / 8 + i];
    }
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t const source = from_bit + i;
    std::int64_t const target = to_bit + i;
    unsigned const value = from[source / 8] >> (source % 8) & 1U;
    unsigned const mask = 1U << (target % 8);
    unsigned char& byte = to[target / 8];
    byte = static_cast<unsigned char>(value != 0 ? byte | mask : byte & ~mask);
  }
}
