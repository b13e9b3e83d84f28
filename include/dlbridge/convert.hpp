// converted_copy_of: copies a host tensor of numbers to a new tensor of another dtype.
// layer: arrays
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/constraints.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/requirement.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
// Whether the host can convert a tensor to one that meets the requirement.
bool is_convertible(tensor_view const& view, requirement const& need) noexcept;

// Why a tensor is not converted to one that meets the requirement.
DLBRIDGE_COLD report explain_conversion(tensor_view const& view, requirement const& need) noexcept;

// A copy of a tensor that is convertible; empty, with `why`, if the copy would change a value.
template <class T, bool ByValue>
managed_tensor convert_tensor(tensor_view const& source, requirement const& need, layout order,
                              struct_kind kind, host_allocator const& memory, report& why);
}  // namespace detail

/// Copies a tensor of numbers to new host memory, with its elements converted to T.
///
/// A float receives every real dtype, rounded to the nearest number; above its largest number is
/// infinity, or NaN in a format without infinity. No other conversion loses a value, as converts_to
/// states. By value, each element keeps its value, as converts_by_value states.
/// @tparam T The element type of the copy.
/// @tparam Rule converted or by_value.
/// @param source The tensor, in memory that the CPU can access, with any strides.
/// @param order layout::row_major or layout::column_major.
/// @param kind The struct kind.
/// @param memory The allocator, whose functions must outlive the tensor.
/// @return A compact, writable tensor, aligned to 64 bytes, with flag_is_copied; also if the dtypes
///   are equal.
/// @throws error dtype_mismatch (no such conversion exists), value_mismatch (by value, an element
///   would change; the message has it and its index), or as copy_of.
/// @par Stream order
/// As copy_of: the elements must be ready when the caller calls it.
template <class T, class Rule = converted>
managed_tensor converted_copy_of(tensor_view const& source, layout order = layout::row_major,
                                 struct_kind kind = struct_kind::versioned,
                                 host_allocator const& memory = default_allocator());

DLBRIDGE_END_NAMESPACE

#include <dlbridge/convert.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/convert.ipp>
#endif
