// tensor_view: gives access to a DLTensor without owning it; check_tensor and view_of validate a
// struct from a producer first.
// layer: tensors · import: from a struct of a producer to a checked view
#pragma once

#include <cstdint>

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
      byte_offset_ = 0;
    }
  }
  tensor_view(DLTensor const&&, std::uint64_t = 0) = delete;  // the view would dangle

  /// The address of the first element, in host or device memory, or the handle of the memory on
  /// devices without addresses (has_address). It may be null if the tensor is empty.
  void const* data() const noexcept { return data_; }
  /// The same as data(), for writing.
  /// @throws error read_only if the tensor is read-only.
  void* mutable_data() const {
    if (read_only()) {
      raise(refusal(errc::read_only, "writable memory", "read-only memory",
                    "Take it as const, or copy it"));
    }
    return data_;
  }
  /// The offset, in bytes, of the first element from a handle; 0 where data() is an address
  /// (spec 1.6).
  std::uint64_t byte_offset() const noexcept { return byte_offset_; }

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
    for (int i = 0; i < rank_; ++i) {
      out[i] = strides_[i];
    }
  }

  /// The view as a DLTensor, where data includes the byte offset if data is an address. A DLTensor
  /// has no flags, so the caller must not write through it to a read-only tensor.
  /// @par Lifetime
  /// As the view.
  DLTensor to_dltensor() const noexcept {
    DLTensor t;
    t.data = data_;
    t.device = device_.abi();
    t.ndim = rank_;
    t.dtype = dtype_.abi();
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
    copy.device_ = where;
    return copy;
  }
  /// The same view with other flags, for example without flag_read_only.
  tensor_view with_flags(std::uint64_t flags) const noexcept {
    tensor_view copy = *this;
    copy.flags_ = flags;
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
  std::uint64_t byte_offset_;
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

/// Appends extents or strides, such as "[4, 2]".
template <std::size_t N>
void append_extents(bounded_text<N>& text, int rank, std::int64_t const* extents) noexcept {
  text.append("[");
  for (int i = 0; i < rank; ++i) {
    text.append(i == 0 ? "" : ", ").append(extents[i]);
  }
  text.append("]");
}

/// The description of a view in messages, such as "int64[4, 2] on cuda:0".
DLBRIDGE_COLD inline view_text name_of(tensor_view const& view) noexcept {
  view_text text;
  text.append(name_of(view.dtype()).c_str());
  append_extents(text, view.rank(), view.shape());
  return text.append(" on ").append(name_of(view.device()).c_str());
}

namespace detail {
// The errors that a DLTensor can have, in the order of the checks. Each check reads only fields
// that the checks before it have validated.
enum class flaw { none, rank, null_shape, extent, dtype, device, count, reach, null_data };

// Whether all bytes of the elements have valid addresses, and whether their offsets in bits, which
// packed elements need, fit 64 bits.
inline bool has_addressable_reach(DLTensor const& t) noexcept {
  constexpr std::int64_t most = INT64_MAX / 8;
  std::int64_t const bytes = element_bytes(dtype(t.dtype));
  std::int64_t low = 0;
  std::int64_t high = 0;
  if (t.byte_offset > static_cast<std::uint64_t>(most) ||
      !try_reach(t.ndim, t.shape, t.strides, low, high) || !try_add(high, 1, high) ||
      !try_multiply(low, bytes, low) || !try_multiply(high, bytes, high) || low < -most ||
      high > most) {
    return false;
  }
  if (!has_address(device(t.device)) || t.data == nullptr) {
    return true;
  }
  auto const offset = static_cast<std::int64_t>(t.byte_offset);
  low += offset;
  high += offset;
  std::uint64_t const base = reinterpret_cast<std::uintptr_t>(t.data);  // may have 32 bits
  return (low >= 0 || base >= 0 - static_cast<std::uint64_t>(low)) &&
         (high <= 0 || static_cast<std::uint64_t>(high) <= UINTPTR_MAX - base);
}

// Whether all sizes are moderate: at most 8 dimensions, extents from 1 to 2^28, strides from 0 to
// 2^28 - 1, and at most 2^34 for the number of elements and for their reach. No product of such
// sizes overflows. Nearly every tensor passes this test.
inline bool has_ordinary_sizes(DLTensor const& t) noexcept {
  constexpr std::uint64_t moderate = std::uint64_t{1} << 28;
  constexpr std::uint64_t most = std::uint64_t{1} << 34;
  if (static_cast<std::uint32_t>(t.ndim) > 8 || (t.shape == nullptr && t.ndim != 0)) {
    return false;
  }
  std::uint64_t largest = 0;  // bitwise or: an upper bound of every extent and stride
  std::uint64_t reach = 0;
  double count = 1;  // exact up to 2^53, and does not wrap
  for (int i = 0; i < t.ndim; ++i) {
    auto const above_one = static_cast<std::uint64_t>(t.shape[i]) - 1;  // huge for extents below 1
    auto const step = t.strides != nullptr ? static_cast<std::uint64_t>(t.strides[i]) : 0;
    largest |= above_one | step;
    reach += above_one * step;
    count *= static_cast<double>(t.shape[i]);
  }
  return largest < moderate && reach <= most && count <= static_cast<double>(most);
}

inline bool has_ordinary_data(DLTensor const& t) noexcept {
  auto const base = reinterpret_cast<std::uintptr_t>(t.data);
  return base != 0 && base <= UINTPTR_MAX / 2 && t.byte_offset <= std::uint64_t{1} << 34;
}

inline bool is_sound_fast(DLTensor const& t) noexcept {
  return is_sound(dtype(t.dtype)) && t.dtype.lanes == 1 && has_address(device(t.device)) &&
         has_ordinary_data(t) && has_ordinary_sizes(t);
}

DLBRIDGE_NOINLINE inline flaw find_flaw_slow(DLTensor const& t) noexcept {
  if (t.ndim < 0 || t.ndim > max_rank) {
    return flaw::rank;
  }
  if (t.ndim > 0 && t.shape == nullptr) {
    return flaw::null_shape;
  }
  for (int i = 0; i < t.ndim; ++i) {
    if (t.shape[i] < 0) {
      return flaw::extent;
    }
  }
  if (!is_sound(dtype(t.dtype))) {
    return flaw::dtype;
  }
  device_row const* const where = find_row(device(t.device));
  if (where == nullptr) {
    return flaw::device;
  }
  std::int64_t count = 0;
  std::int64_t size = 0;
  if (!try_count(t.ndim, t.shape, count) ||
      !try_multiply(count, element_bits(dtype(t.dtype)), size)) {
    return flaw::count;
  }
  if (count != 0 && !has_addressable_reach(t)) {
    return flaw::reach;
  }
  if (count != 0 && t.data == nullptr && where->data == data_kind::address) {
    return flaw::null_data;
  }
  return flaw::none;
}

inline flaw find_flaw(DLTensor const& t) noexcept {
  return is_sound_fast(t) ? flaw::none : find_flaw_slow(t);
}

DLBRIDGE_COLD inline report explain(flaw what, DLTensor const& t) noexcept {
  constexpr char const* broken = "The producer is broken; dlbridge cannot read this tensor";
  report r;
  r.advice = broken;
  switch (what) {
    case flaw::none:
      break;
    case flaw::rank:
      r = refusal(errc::malformed, "ndim from 0 to 64", "ndim ", broken);
      r.got.append(std::int64_t{t.ndim});
      break;
    case flaw::null_shape:
      r = refusal(errc::malformed, "a shape", "a null shape with ndim ", broken);
      r.got.append(std::int64_t{t.ndim});
      break;
    case flaw::extent:
      r = refusal(errc::malformed, "extents of 0 and above", "shape ", broken);
      append_extents(r.got, t.ndim, t.shape);
      break;
    case flaw::dtype:
      r = refusal(errc::dtype_mismatch, "a dtype of DLPack 1.x", "",
                  "Ask the producer for another dtype, or use a newer dlbridge");
      r.got.append(name_of(dtype(t.dtype)).c_str());
      break;
    case flaw::device:
      r = refusal(errc::device_mismatch, "a device of DLPack 1.x", "",
                  "Move the tensor to a device that dlbridge supports, or use a newer dlbridge");
      r.got.append(name_of(device(t.device)).c_str());
      break;
    case flaw::count:
      r = refusal(errc::overflow, "a size that fits 64 bits", "shape ", broken);
      append_extents(r.got, t.ndim, t.shape);
      break;
    case flaw::reach:
      r = refusal(errc::overflow, "bytes that can be addressed", "shape ", broken);
      append_extents(r.got, t.ndim, t.shape);
      if (t.ndim != 0 && t.strides != nullptr) {
        r.got.append(" with strides ");
        append_extents(r.got, t.ndim, t.strides);
      }
      r.got.append(" and byte offset ").append_unsigned(t.byte_offset);
      break;
    case flaw::null_data:
      r = refusal(errc::null_data, "memory", "null data for ",
                  "Give the tensor storage first: fake, meta and lazy tensors have none");
      r.got.append(name_of(tensor_view(t)).c_str());
      break;
  }
  return r;
}
}  // namespace detail

/// Validates a DLTensor: rank, shape, extents, dtype, device, the number of elements, their
/// addresses, and that data is not null. It does not read the elements.
///
/// @param t A struct from any producer.
/// @return a report: malformed (rank, shape or extents), dtype_mismatch, device_mismatch (a device
///   type that dlbridge does not support), overflow, null_data (for a tensor with elements).
inline report check_tensor(DLTensor const& t) noexcept {
  detail::flaw const flaw = detail::find_flaw(t);
  return flaw == detail::flaw::none ? report{} : detail::explain(flaw, t);
}

/// The view of a DLTensor that the caller borrows, validated as by check_tensor.
///
/// @param t The struct, which must outlive the view.
/// @param flags The flags of the versioned struct; 0 if there are none.
/// @throws error as check_tensor.
inline tensor_view view_of(DLTensor const& t DLBRIDGE_LIFETIMEBOUND, std::uint64_t flags = 0) {
  detail::flaw const flaw = detail::find_flaw(t);
  if (flaw != detail::flaw::none) {
    raise(detail::explain(flaw, t));
  }
  return tensor_view(t, flags);
}
tensor_view view_of(DLTensor const&&, std::uint64_t = 0) = delete;

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
