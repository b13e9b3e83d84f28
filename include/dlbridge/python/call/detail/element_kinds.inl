// The inline bodies of element_kinds.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/call/detail/element_kinds.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
template <class T>
constexpr element_kind find_kind() noexcept {
  return std::is_reference_v<T> || std::is_const_v<T> ? element_kind::other
         : is_tensor_parameter<T>                     ? element_kind::tensor
         : is_scalar<T> && !is_character<T>           ? element_kind::scalar
         : std::is_same_v<T, member_view>             ? element_kind::view
         : is_optional<T>                             ? element_kind::optional
         : dlbridge::detail::is_variant<T>            ? element_kind::variant
         : is_tuple<T>                                ? element_kind::tuple
         : is_mapping<T> || is_sequence<T>            ? element_kind::collection
                                                      : element_kind::other;
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
