// The inline bodies of extent_names.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/extent_names.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
constexpr bool has_names(requirement const& need) noexcept {
  bool result = false;
  for (int i = 0; i < need.rank; ++i) {
    result = result || name_of_extent(need.extents[i]) != '\0';
  }
  return result;
}

template <class Tensor>
void require_names(extent_names& names, Tensor const& tensor, int position) {
  constexpr requirement need = Tensor::required();
  if constexpr (has_names(need)) {
    extent_names::entry const* const other = names.add(tensor.view(), need, position);
    if (other != nullptr) {
      bounded_text<24> where("tensor ");
      where.append(std::int64_t{other->source});
      raise(disagreement(tensor.view(), need, *other, where.c_str()));
    }
  }
}
}  // namespace detail

template <class... Tensors>
void require_agreement(Tensors const&... tensors) {
  extent_names names;
  int position = 0;
  (detail::require_names(names, tensors, ++position), ...);
}

DLBRIDGE_END_NAMESPACE
