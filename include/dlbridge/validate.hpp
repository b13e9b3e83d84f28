// check_tensor, view_of: validate a DLTensor of a producer before anything relies on it.
// layer: tensors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/tensor_view.hpp>

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

// The strides that stand for null strides in is_ordinary_memory. The elements then reach no further
// than their number.
DLBRIDGE_LOCAL inline constexpr std::int64_t no_steps[8] = {};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
// GCC 12 with -Os warns of the loop where the rank is known to be 0, which does not enter it.
#pragma GCC diagnostic ignored "-Waggressive-loop-optimizations"
#endif
// Whether the memory is in the lower half of the addresses, the rank is at most 8, no extent is 0,
// and extents, strides, offset, count and reach are all below 2^31. No sum or product of such
// numbers wraps. Nearly every tensor passes: the bitwise or of all numbers is compared once.
// RowMajor: whether the elements must be compact in row-major order as well.
template <bool RowMajor = false>
DLBRIDGE_INLINE bool is_ordinary_memory(DLTensor const& t) noexcept {
  auto const base = reinterpret_cast<std::uintptr_t>(t.data);
  if (sizeof(base) != 8 || base == 0 || base > UINTPTR_MAX / 2) {
    return false;  // addresses of 32 bits are too short for some of these sizes
  }
  std::uint64_t sizes = t.byte_offset;
  std::uint64_t count = 1;
  std::uint64_t reach = 0;
  std::uint64_t gaps = 0;
  if (t.ndim != 0) {
    if (static_cast<std::uint32_t>(t.ndim) > 8 || t.shape == nullptr) {
      return false;
    }
    std::int64_t const* const strides = t.strides != nullptr ? t.strides : no_steps;
    std::ptrdiff_t i = t.ndim;  // from the last dimension on, which saves a comparison
    do {
      auto const extent = static_cast<std::uint64_t>(t.shape[i - 1]);
      auto const step = static_cast<std::uint64_t>(strides[i - 1]);
      gaps |= RowMajor && extent != 1 ? step ^ count : 0;
      count *= extent;
      sizes |= extent | step | count;
      reach += extent * step;
    } while (--i != 0);
  }
  return (sizes | reach | (count - 1)) >> 31 == 0 && (gaps == 0 || t.strides == nullptr);
}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

// Whether the dtype is sound and has one lane. Up to kDLBool, every width is sound.
inline bool is_ordinary_dtype(DLDataType type) noexcept {
  return type.bits != 0 && type.lanes == 1 && (type.code <= kDLBool || is_sound(dtype(type)));
}

inline bool is_sound_fast(DLTensor const& t) noexcept {
  return is_ordinary_dtype(t.dtype) && has_address(device(t.device)) && is_ordinary_memory(t);
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
  if (count != 0 && t.data == nullptr && where->data != data_kind::handle) {
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
                  t.dtype.bits == 0 || t.dtype.lanes == 0
                      ? broken
                      : "Ask the producer for another dtype, or use a newer dlbridge");
      append_name(r.got, dtype(t.dtype));
      break;
    case flaw::device:
      r = refusal(errc::device_mismatch, "a device of DLPack 1.x", "",
                  "Move the tensor to a device that dlbridge supports, or use a newer dlbridge");
      append_name(r.got, device(t.device));
      break;
    case flaw::count:
      r = refusal(errc::overflow, "a size in bits that fits 64 bits", "shape ",
                  "Pass a view of fewer elements");
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
      append_name(r.got, tensor_view(t));
      break;
  }
  return r;
}

// The refusal of extents that the caller passes for a new tensor or a view, and that no tensor has.
inline report check_extents(int rank, std::int64_t const* extents) noexcept {
  bool is_negative = false;
  for (int i = 0; rank <= max_rank && i < rank; ++i) {
    is_negative = is_negative || extents[i] < 0;
  }
  report r;
  if (rank > max_rank || is_negative) {
    r = refusal(errc::bad_argument, is_negative ? "extents of 0 and above" : "at most 64 extents",
                "shape ");
    append_extents(r.got, rank, extents);
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
tensor_view view_of(DLTensor const&&, std::uint64_t = 0) = delete;  // dangles: name the struct

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
