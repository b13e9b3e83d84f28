// The bodies of as.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/as.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
DLBRIDGE_API bool nesting_strides(tensor_view const& view, std::int64_t* out) noexcept {
  bool const empty = view.empty();
  std::uint64_t step = 1;
  view.copy_strides(out);
  for (int i = view.rank(); i-- > 0;) {
    if (view.extent(i) <= 1) {
      out[i] = 1;
    } else if (empty) {
      out[i] = static_cast<std::int64_t>(step);
      step *= static_cast<std::uint64_t>(view.extent(i));
    }
  }
  int order[max_rank];
  int const dimensions = sort_by_step(view.rank(), view.shape(), out, order);  // -1 if empty
  std::uint64_t inside = 1;
  for (int i = 0; i < dimensions; ++i) {
    std::int64_t const stride = out[order[i]];
    if (stride < 0 || static_cast<std::uint64_t>(stride) < inside) {
      return false;
    }
    inside = static_cast<std::uint64_t>(stride) * static_cast<std::uint64_t>(view.extent(order[i]));
  }
  return true;
}

DLBRIDGE_NOINLINE DLBRIDGE_API void break_layout(report& r, tensor_view const& view,
                                                 char const* expected) noexcept {
  std::int64_t strides[max_rank];
  view.copy_strides(strides);
  r.advice = r.ok() ? other_layout_advice : r.advice;
  r.add(errc::layout_mismatch);
  r.expected.append(expected);
  r.got.append(" with strides ");
  append_extents(r.got, view.rank(), strides);
}

DLBRIDGE_NOINLINE DLBRIDGE_API void raise_layout(tensor_view const& view, requirement const& need,
                                                 char const* expected) {
  report r = explain_mismatch(view, need);
  break_layout(r, view, expected);
  raise(r);
}

DLBRIDGE_NOINLINE DLBRIDGE_API void raise_index_overflow(tensor_view const& view,
                                                         std::size_t bytes) {
  report r = refusal(errc::overflow, "a tensor whose indices fit ", name_of(view).c_str(),
                     "Use a view type with a wider index");
  r.expected.append_unsigned(bytes * 8).append(" bits");
  raise(r);
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE
