// check_tensor, view_of: validate a DLTensor of a producer before anything relies on it.
// layer: tensors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_NAMESPACE

/// Validates a DLTensor: rank, shape, extents, dtype, device, the number of elements, their
/// addresses, and that data is not null. It does not read the elements.
/// @param t A struct from any producer.
/// @return A report: malformed (rank, shape or extents), dtype_mismatch, device_mismatch (a device
///   type that dlbridge does not support), overflow, null_data (for a tensor with elements).
report check_tensor(DLTensor const& t) noexcept;

/// The view of a DLTensor that the caller borrows, validated as by check_tensor.
/// @param t The struct, which must outlive the view.
/// @param flags The flags of the versioned struct; 0 if there are none.
/// @throws error as check_tensor.
tensor_view view_of(DLTensor const& t DLBRIDGE_LIFETIMEBOUND, std::uint64_t flags = 0);
tensor_view view_of(DLTensor const&&, std::uint64_t = 0) = delete;  ///< dangles: name the struct

namespace detail {
// The errors that a DLTensor can have, in the order of the checks. Each check reads only fields
// that the checks before it have validated.
enum class flaw { none, rank, null_shape, extent, dtype, device, count, reach, null_data };

// Whether the memory is in the lower half of the addresses, the rank is at most 8, no extent is 0,
// and extents, strides, offset, count and reach are all below 2^31. No sum or product of such
// numbers wraps. Nearly every tensor passes: the bitwise or of all numbers is compared once.
// RowMajor: whether the elements must be compact in row-major order as well.
template <bool RowMajor = false>
DLBRIDGE_INLINE bool is_ordinary_memory(DLTensor const& t) noexcept;

// Whether the dtype is sound and has one lane. Up to kDLBool, every width is sound.
inline bool is_ordinary_dtype(DLDataType type) noexcept {
  return type.bits != 0 && type.lanes == 1 && (type.code <= kDLBool || is_sound(dtype(type)));
}

inline bool is_sound_fast(DLTensor const& t) noexcept {
  return is_ordinary_dtype(t.dtype) && has_address(device(t.device)) && is_ordinary_memory(t);
}

flaw find_flaw_slow(DLTensor const& t) noexcept;

inline flaw find_flaw(DLTensor const& t) noexcept {
  return is_sound_fast(t) ? flaw::none : find_flaw_slow(t);
}

DLBRIDGE_COLD report explain(flaw what, DLTensor const& t) noexcept;

// The refusal of extents that the caller passes for a new tensor or a view, and that no tensor has.
inline report check_extents(int rank, std::int64_t const* extents) noexcept;
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/validate.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/validate.ipp>
#endif
