// The inline bodies of tensor_view.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstring>

#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_NAMESPACE

inline tensor_view::tensor_view(DLTensor const& t, std::uint64_t flags) noexcept
    : data_(t.data),
      shape_(t.shape),
      strides_(t.strides),
      byte_offset_(t.byte_offset),
      flags_(flags),
      device_(t.device),
      dtype_(t.dtype),
      rank_(t.ndim) {
  if (byte_offset_ != 0 && has_address(device_)) {
    // The addition uses integers: an empty tensor may have any data and any offset, for which
    // pointer arithmetic is undefined. Null stays null.
    byte_offset_ = data_ != nullptr ? byte_offset_ : 0;
    data_ = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(data_) +
                                    static_cast<std::uintptr_t>(byte_offset_));
    byte_offset_ = keeps_data(device_) ? byte_offset_ : 0;  // for to_dltensor
  }
}

inline void tensor_view::copy_strides(std::int64_t* out) const noexcept {
  if (strides_ == nullptr) {
    fill_row_major(rank_, shape_, out);
    return;
  }
  detail::copy_extents(strides_, rank_, out);
}

DLTensor tensor_view::to_dltensor() const noexcept {
  DLTensor t;
  t.data = data_;
  if (keeps_data(device_) && byte_offset_ != 0) {
    auto const first = reinterpret_cast<std::uintptr_t>(data_);
    t.data = reinterpret_cast<void*>(first - static_cast<std::uintptr_t>(byte_offset_));
  }
  t.device = device_.abi();
  t.ndim = rank_;
  std::memcpy(&t.dtype, &dtype_, sizeof(t.dtype));  // by one instruction
  t.shape = const_cast<std::int64_t*>(shape_);
  t.strides = const_cast<std::int64_t*>(strides_);
  t.byte_offset = byte_offset_;
  return t;
}

inline tensor_view tensor_view::with_flags(std::uint64_t flags) const noexcept {
  tensor_view copy = *this;
  copy.flags_ = flags;
  return copy;
}

inline tensor_view tensor_view::with_dims(std::int64_t const* shape,
                                          std::int64_t const* strides) const noexcept {
  tensor_view copy = *this;
  copy.shape_ = shape;
  copy.strides_ = strides;
  return copy;
}

template <std::size_t N>
void append_extents(bounded_text<N>& text, int rank, std::int64_t const* extents) noexcept {
  if (rank > max_rank) {
    text.append("of more than 64 dimensions");
    return;
  }
  text.append("[");
  for (int i = 0; i < rank; ++i) {
    text.append(i == 0 ? "" : ", ").append(extents[i]);
  }
  text.append("]");
}

DLBRIDGE_END_NAMESPACE
