// tensor_view: gives access to the memory and the layout of a DLTensor without owning it.
// layer: tensors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/layout.hpp>

DLBRIDGE_BEGIN_NAMESPACE

/// A non-owning view of a tensor: data, dtype, shape, strides, device and flags. Trivially
/// copyable; pass it by value.
/// @par Lifetime
/// The view points to the data, the shape and the strides of the tensor, and is valid as long as
/// that tensor.
class tensor_view {
 public:
  /// A view of a struct.
  /// @param t The struct, which must outlive the view.
  /// @param flags The flags of the versioned struct; 0 if there are none.
  /// @pre check_tensor(t) reports no error. view_of checks it.
  explicit tensor_view(DLTensor const& t DLBRIDGE_LIFETIMEBOUND, std::uint64_t flags = 0) noexcept;
  tensor_view(DLTensor const&&, std::uint64_t = 0) = delete;  ///< dangles: keep it in a variable

  /// The address of the first element, in host or device memory, or the handle of the memory on
  /// devices without addresses (has_address). It may be null if the tensor is empty.
  void const* data() const noexcept { return data_; }
  /// The address or the handle of data(), for writing.
  /// @throws error read_only if the tensor is read-only.
  void* mutable_data() const;
  /// The offset, in bytes, of the first element from a handle; 0 where data() is an address
  /// (spec 1.6).
  std::uint64_t byte_offset() const noexcept { return keeps_data(device_) ? 0 : byte_offset_; }

  dlbridge::device device() const noexcept { return device_; }  ///< The device of the memory.
  dlbridge::dtype dtype() const noexcept { return dtype_; }     ///< The dtype of the elements.
  int rank() const noexcept { return rank_; }                   ///< The number of dimensions.
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
  std::int64_t stride(int i) const noexcept;
  /// Writes the rank() strides, in elements, to out, also if strides() is null.
  void copy_strides(std::int64_t* out) const noexcept;

  /// The view as a DLTensor, where data includes the byte offset if data is an address. On oneAPI
  /// data and byte_offset are those of the producer (keeps_data). A DLTensor has no flags, so the
  /// caller must not write through it to a read-only tensor.
  /// @par Lifetime
  /// As the view.
  DLBRIDGE_INLINE DLTensor to_dltensor() const noexcept;

  /// The number of elements.
  std::int64_t count() const noexcept { return count_of(rank_, shape_); }
  bool empty() const noexcept { return count() == 0; }  ///< Whether there are no elements.
  bool read_only() const noexcept { return (flags_ & flag_read_only) != 0; }  ///< flag_read_only.
  bool is_copied() const noexcept { return (flags_ & flag_is_copied) != 0; }  ///< flag_is_copied.
  bool is_padded() const noexcept { return (flags_ & flag_padded) != 0; }     ///< flag_padded.
  std::uint64_t flags() const noexcept { return flags_; }  ///< All flags, also unknown ones.
  /// The same view with another device, for memory that two devices share.
  tensor_view on_device(dlbridge::device where) const noexcept;
  /// The same view with other flags, for example without flag_read_only.
  tensor_view with_flags(std::uint64_t flags) const noexcept;
  /// The same view with copies of the shape and the strides, which must outlive it.
  tensor_view with_dims(std::int64_t const* shape, std::int64_t const* strides) const noexcept;

  /// Whether the elements are compact with the last dimension fastest (C order).
  bool is_row_major() const noexcept { return dlbridge::is_row_major(rank_, shape_, strides_); }
  /// Whether the elements are compact with the first dimension fastest (Fortran order).
  bool is_column_major() const noexcept {
    return dlbridge::is_column_major(rank_, shape_, strides_);
  }
  /// Whether the elements fill one block without gaps, in any order of the dimensions.
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

namespace detail {
template <class T>
using if_no_view =
    std::enable_if_t<!std::is_convertible_v<T const&, tensor_view> && !std::is_pointer_v<T>>;
}  // namespace detail

/// The bytes of count compact elements. Sub-byte elements are packed unless padded is true.
/// @pre count * element_bits(type) fits 64 bits, as in every tensor that check_tensor accepts.
std::int64_t bytes_for(std::int64_t count, dtype type, bool padded) noexcept;

/// The text that name_of returns.
using view_text = bounded_text<240>;

/// Appends extents or strides, such as "[4, 2]". Of a rank above 64, which no tensor has, it states
/// only that, and reads no extents.
template <std::size_t N>
void append_extents(bounded_text<N>& text, int rank, std::int64_t const* extents) noexcept;

/// Appends the description of a view in messages, such as "int64[4, 2] on cuda:0".
DLBRIDGE_COLD void append_name(view_text& text, tensor_view const& view) noexcept;
/// The description of a view, as append_name writes it.
DLBRIDGE_COLD view_text name_of(tensor_view const& view) noexcept;

DLBRIDGE_END_NAMESPACE

#include <dlbridge/tensor_view.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/tensor_view.ipp>
#endif
