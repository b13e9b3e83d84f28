// check_tensor, view_of: validate a DLTensor of a producer before anything relies on it.
// layer: tensors · import: from a struct of a producer to a checked view
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

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

// Whether the bytes of every tensor of ordinary sizes have valid addresses from here. On a machine
// with addresses of 32 bits such sizes can exceed the addresses.
inline bool has_ordinary_data(DLTensor const& t) noexcept {
  auto const base = reinterpret_cast<std::uintptr_t>(t.data);
  return sizeof(base) == 8 && base != 0 && base <= UINTPTR_MAX / 2 &&
         t.byte_offset <= std::uint64_t{1} << 34;
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
