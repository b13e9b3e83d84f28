// check_view reports every rule of a requirement that a view breaks; require_view throws them.
// layer: tensors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/requirement.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_NAMESPACE

/// Whether a view meets a requirement, for a caller that needs no report. It is inlined, so that a
/// requirement that is a constant costs no more than the rules that it has.
DLBRIDGE_INLINE bool meets(tensor_view const& view, requirement const& need) noexcept;

/// Checks a view against a requirement.
/// @param view The view.
/// @param need The requirement.
/// @return A report with every rule that the view breaks: dtype_mismatch, rank_mismatch,
///   extent_mismatch, device_mismatch, layout_mismatch, read_only, misaligned. For a requirement
///   of which a field would not be checked: bad_argument, such as for extents without a rank.
report check_view(tensor_view const& view, requirement const& need) noexcept;

/// Throws if a view does not meet a requirement.
/// @param view The view.
/// @param need The requirement.
/// @throws error with the report of check_view, if the view breaks a rule.
DLBRIDGE_INLINE void require_view(tensor_view const& view, requirement const& need);

namespace detail {
// Whether the extents meet the requirement. The result for a wrong rank is true, because another
// rule, rank_mismatch, reports it.
DLBRIDGE_INLINE bool has_extents(int rank, std::int64_t const* shape,
                                 requirement const& need) noexcept;
DLBRIDGE_INLINE bool has_extents(tensor_view const& view, requirement const& need) noexcept {
  return has_extents(view.rank(), view.shape(), need);
}

// The number that must be a multiple of the alignment: the address of the first element, or its
// offset if data is a handle, since the bits of a handle are not an address.
std::uint64_t position_of(tensor_view const& view) noexcept;

DLBRIDGE_LOCAL inline constexpr char const* other_layout_advice = "Pass a copy in that layout";

DLBRIDGE_COLD report explain_mismatch(tensor_view const& view, requirement const& need) noexcept;

// Whether the struct is an ordinary tensor in host memory, valid, and meets the requirement. If
// not, the caller takes the slow path, check_tensor and check_view, which may still accept it.
DLBRIDGE_INLINE bool fits_fast_path(DLTensor const& t, requirement const& need) noexcept;
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/check.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/check.ipp>
#endif
