// The bodies of tensor_view.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_NAMESPACE

DLBRIDGE_API void* tensor_view::mutable_data() const {
  if (read_only()) {
    raise(refusal(errc::read_only, "writable memory", "read-only memory",
                  "Read it by data(), or copy it with copy_of"));
  }
  return data_;
}

DLBRIDGE_API std::int64_t tensor_view::stride(int i) const noexcept {
  return strides_ != nullptr ? strides_[i] : row_major_stride(rank_, shape_, i);
}

DLBRIDGE_API tensor_view tensor_view::on_device(dlbridge::device where) const noexcept {
  tensor_view copy = *this;
  copy.byte_offset_ = byte_offset();
  copy.device_ = where;
  return copy;
}

DLBRIDGE_API std::int64_t bytes_for(std::int64_t count, dtype type, bool padded) noexcept {
  if (!is_sub_byte(type) || padded) {
    return count * element_bytes(type);
  }
  std::int64_t const bits = count * element_bits(type);
  return bits / 8 + (bits % 8 != 0 ? 1 : 0);
}

DLBRIDGE_NOINLINE DLBRIDGE_API void append_name(view_text& text, tensor_view const& view) noexcept {
  append_name(text, view.dtype());
  append_extents(text, view.rank(), view.shape());
  append_name(text.append(" on "), view.device());
}

DLBRIDGE_NOINLINE DLBRIDGE_API view_text name_of(tensor_view const& view) noexcept {
  view_text text;
  append_name(text, view);
  return text;
}

DLBRIDGE_END_NAMESPACE
