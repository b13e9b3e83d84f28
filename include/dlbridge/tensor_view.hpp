// tensor_view: gives access to the memory and the layout of a DLTensor without owning it.
// layer: tensors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/layout.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// A non-owning view of a tensor: data, dtype, shape, strides, device and flags. Trivially
/// copyable; pass it by value.
///
/// @par Lifetime
/// The view points to the data, the shape and the strides of the tensor, and is valid as long as
/// that tensor.
class tensor_view {
 public:
  /// @param t The struct, which must outlive the view.
  /// @param flags The flags of the versioned struct; 0 if there are none.
  /// @pre check_tensor(t) reports no error. view_of checks it.
  explicit tensor_view(DLTensor const& t DLBRIDGE_LIFETIMEBOUND, std::uint64_t flags = 0) noexcept
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
      // pointer arithmetic is undefined.
      data_ = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(data_) +
                                      static_cast<std::uintptr_t>(byte_offset_));
      byte_offset_ = keeps_data(device_) ? byte_offset_ : 0;  // for to_dltensor
    }
  }
  tensor_view(DLTensor const&&, std::uint64_t = 0) = delete;  // dangles: keep it in a variable

  /// The address of the first element, in host or device memory, or the handle of the memory on
  /// devices without addresses (has_address). It may be null if the tensor is empty.
  void const* data() const noexcept { return data_; }
  /// The same as data(), for writing.
  /// @throws error read_only if the tensor is read-only.
  void* mutable_data() const {
    if (read_only()) {
      raise(refusal(errc::read_only, "writable memory", "read-only memory",
                    "Read it by data(), or copy it with copy_of"));
    }
    return data_;
  }
  /// The offset, in bytes, of the first element from a handle; 0 where data() is an address
  /// (spec 1.6).
  std::uint64_t byte_offset() const noexcept { return keeps_data(device_) ? 0 : byte_offset_; }

  dlbridge::device device() const noexcept { return device_; }
  dlbridge::dtype dtype() const noexcept { return dtype_; }
  int rank() const noexcept { return rank_; }
  /// The rank() extents. At rank 0 the pointer may be null.
  std::int64_t const* shape() const noexcept { return shape_; }
  /// The extent of dimension i.
  /// @pre 0 <= i < rank().
  std::int64_t extent(int i) const noexcept { return shape_[i]; }
  /// The rank() strides, in elements. Null if the producer wrote no strides, which means row-major
  /// (spec 1.7).
  std::int64_t const* strides() const noexcept { return strides_; }
  /// The stride of dimension i in elements, also if strides() is null.
  /// @pre 0 <= i < rank().
  std::int64_t stride(int i) const noexcept {
    return strides_ != nullptr ? strides_[i] : row_major_stride(rank_, shape_, i);
  }
  /// Writes the rank() strides, in elements, to out, also if strides() is null.
  void copy_strides(std::int64_t* out) const noexcept {
    if (strides_ == nullptr) {
      fill_row_major(rank_, shape_, out);
      return;
    }
    detail::copy_extents(strides_, rank_, out);
  }

  /// The view as a DLTensor, where data includes the byte offset if data is an address. On oneAPI
  /// data and byte_offset are those of the producer (keeps_data). A DLTensor has no flags, so the
  /// caller must not write through it to a read-only tensor.
  /// @par Lifetime
  /// As the view.
  DLBRIDGE_INLINE DLTensor to_dltensor() const noexcept {
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

  /// The number of elements.
  std::int64_t count() const noexcept { return count_of(rank_, shape_); }
  bool empty() const noexcept { return count() == 0; }
  bool read_only() const noexcept { return (flags_ & flag_read_only) != 0; }
  bool is_copied() const noexcept { return (flags_ & flag_is_copied) != 0; }
  bool is_padded() const noexcept { return (flags_ & flag_padded) != 0; }
  std::uint64_t flags() const noexcept { return flags_; }
  /// The same view with another device, for memory that two devices share.
  tensor_view on_device(dlbridge::device where) const noexcept {
    tensor_view copy = *this;
    copy.byte_offset_ = byte_offset();
    copy.device_ = where;
    return copy;
  }
  /// The same view with other flags, for example without flag_read_only.
  tensor_view with_flags(std::uint64_t flags) const noexcept {
    tensor_view copy = *this;
    copy.flags_ = flags;
    return copy;
  }

  /// The same view with copies of the shape and the strides, which must outlive it.
  tensor_view with_dims(std::int64_t const* shape, std::int64_t const* strides) const noexcept {
    tensor_view copy = *this;
    copy.shape_ = shape;
    copy.strides_ = strides;
    return copy;
  }

  bool is_row_major() const noexcept { return dlbridge::is_row_major(rank_, shape_, strides_); }
  bool is_column_major() const noexcept {
    return dlbridge::is_column_major(rank_, shape_, strides_);
  }
  bool is_compact() const noexcept { return dlbridge::is_compact(rank_, shape_, strides_); }

 private:
  void* data_;
  std::int64_t const* shape_;
  std::int64_t const* strides_;
  std::uint64_t byte_offset_;  // where the device keeps data, that of the producer, also in data_
  std::uint64_t flags_;
  dlbridge::device device_;
  dlbridge::dtype dtype_;
  std::int32_t rank_;
};

/// The bytes of count compact elements. Sub-byte elements are packed unless padded is true.
/// @pre count * element_bits(type) fits 64 bits, as in every tensor that check_tensor accepts.
inline std::int64_t bytes_for(std::int64_t count, dtype type, bool padded) noexcept {
  if (!is_sub_byte(type) || padded) {
    return count * element_bytes(type);
  }
  std::int64_t const bits = count * element_bits(type);
  return bits / 8 + (bits % 8 != 0 ? 1 : 0);
}

using view_text = bounded_text<240>;

/// Appends extents or strides, such as "[4, 2]". Of a rank above 64, which no tensor has, it states
/// only that, and reads no extents.
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

/// Appends the description of a view in messages, such as "int64[4, 2] on cuda:0".
DLBRIDGE_COLD inline void append_name(view_text& text, tensor_view const& view) noexcept {
  append_name(text, view.dtype());
  append_extents(text, view.rank(), view.shape());
  append_name(text.append(" on "), view.device());
}
/// The description of a view, as append_name writes it.
DLBRIDGE_COLD inline view_text name_of(tensor_view const& view) noexcept {
  view_text text;
  append_name(text, view);
  return text;
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
