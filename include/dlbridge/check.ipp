// The bodies of check.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/check.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
DLBRIDGE_API bool agrees_with_name(std::int64_t const* shape, std::int64_t const* wanted,
                                   int i) noexcept {
  int first = 0;
  while (wanted[first] != wanted[i]) {
    ++first;
  }
  return shape[first] == shape[i];
}

DLBRIDGE_API std::uint64_t position_of(tensor_view const& view) noexcept {
  return has_address(view.device()) ? reinterpret_cast<std::uintptr_t>(view.data())
                                    : view.byte_offset();
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool has_alignment_slow(tensor_view const& view,
                                                       std::size_t alignment) noexcept {
  return (position_of(view) & (alignment - 1)) == 0 || view.empty();
}

DLBRIDGE_NOINLINE DLBRIDGE_API report explain_mismatch(tensor_view const& view,
                                                       requirement const& need) noexcept {
  if (char const* const missing = missing_in(need)) {
    return refusal(errc::bad_argument, missing, "one without it");
  }
  report r;
  auto rule = [&r](bool passes, errc code) {
    if (!passes) {
      r.add(code);
    }
    return !passes;
  };
  append_requirement(r.expected, need, need.extents != nullptr);
  append_name(r.got, view);
  rule(need.any_type() || need.type == view.dtype() || has_other_type(view.dtype(), need),
       errc::dtype_mismatch);
  rule(need.rank == requirement::any_rank || need.rank == view.rank(), errc::rank_mismatch);
  rule(has_extents(view, need), errc::extent_mismatch);
  rule(need.where.accepts(view.device()), errc::device_mismatch);
  bool const is_copy_enough = r.ok();
  if (rule(has_layout(view, need.order), errc::layout_mismatch)) {
    std::int64_t strides[max_rank];
    view.copy_strides(strides);
    r.got.append(" with strides ");
    append_extents(r.got, view.rank(), strides);
    r.advice = is_copy_enough ? other_layout_advice : nullptr;
  }
  if (rule(!need.writable || !view.read_only(), errc::read_only)) {
    bool const is_copied = view.is_copied();
    r.got.append(is_copied ? ", a read-only copy by its producer" : ", read-only");
    r.advice = is_copied ? "Pass an array that is exported without a copy" : "Pass a writable copy";
  }
  std::size_t const alignment = alignment_for(view.dtype(), need);
  if (rule(has_alignment(view, alignment), errc::misaligned)) {
    if (need.alignment <= max_unstated_alignment) {
      append_alignment(r.expected, alignment);
    }
    append_alignment(r.got, position_of(view) & (0 - position_of(view)));
    r.advice = is_copy_enough && r.advice == nullptr ? "Pass an aligned copy" : r.advice;
  }
  return r;
}
}  // namespace detail

DLBRIDGE_API report check_view(tensor_view const& view, requirement const& need) noexcept {
  return meets(view, need) ? report{} : detail::explain_mismatch(view, need);
}

DLBRIDGE_END_NAMESPACE
