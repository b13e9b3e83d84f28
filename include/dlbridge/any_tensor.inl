// The inline bodies of any_tensor.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/any_tensor.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
[[noreturn]] DLBRIDGE_COLD void raise_unlisted(tensor_view const& view, dtype const* listed,
                                               std::size_t count);

// The argument of a visitor: Access is void for writable elements, void const for read-only ones,
// or an any_of.
template <class Access, class T>
struct visited {
  using span = tensor_span<std::conditional_t<std::is_const_v<Access>, T const, T>>;
  static span of(tensor_view const& view) { return span(view); }
};
template <class List, class... More, class T>
struct visited<any_of<List, More...>, T> {
  using span = tensor_span<T, More...>;
  static span of(tensor_view const& view) noexcept { return span::trust(view); }
};
template <class Access, class T>
using visited_span = typename visited<Access, T>::span;

// Calls the visitor. The list contains the dtype of the view, so the last type is not compared.
template <class Access, class Visitor, class First, class... Rest>
decltype(auto) call_visitor(tensor_view const& view, Visitor& visitor, types<First, Rest...>) {
  if constexpr (sizeof...(Rest) > 0) {
    if (view.dtype() != dtype_of<First>()) {
      return call_visitor<Access>(view, visitor, types<Rest...>{});
    }
  }
  return visitor(visited<Access, First>::of(view));
}

template <class Access, class Visitor, class First, class... Rest>
decltype(auto) visit_types(tensor_view const& view, Visitor& visitor, types<First, Rest...>) {
  constexpr bool takes_each = std::is_invocable_v<Visitor&, visited_span<Access, First>> &&
                              (std::is_invocable_v<Visitor&, visited_span<Access, Rest>> && ...);
  static_assert(takes_each,
                "dlbridge: visit calls the visitor with a tensor_span of each element type. Take "
                "it as auto, [](auto span) { ... }, or list the types, visit<types<float, "
                "double>>(...)");
  if constexpr (takes_each) {
    using result = std::invoke_result_t<Visitor&, visited_span<Access, First>>;
    constexpr bool is_same =
        (std::is_same_v<result, std::invoke_result_t<Visitor&, visited_span<Access, Rest>>> && ...);
    static_assert(
        is_same,
        "dlbridge: a visitor returns the same type for every element type. Convert the "
        "result in the visitor, static_cast<double>(...), or return nothing and store it");
    constexpr dtype listed[] = {dtype_of<First>(), dtype_of<Rest>()...};
    if (view.dtype() != dtype_of<First>() && ((view.dtype() != dtype_of<Rest>()) && ...)) {
      raise_unlisted(view, listed, sizeof...(Rest) + 1);
    }
    // Of several results only the assertion is printed.
    using list = std::conditional_t<is_same, types<First, Rest...>, types<First>>;
    return call_visitor<Access>(view, visitor, list{});
  }
}

// In memory, as the requirement of an any_of points to them.
template <class... T>
DLBRIDGE_LOCAL inline constexpr dtype dtypes_of[] = {dtype_of<T>()..., dtype()};
}  // namespace detail

template <class First, class... Rest, class... More>
constexpr requirement any_of<types<First, Rest...>, More...>::required() noexcept {
  static_assert(((std::is_const_v<First> == std::is_const_v<Rest>) && ...),
                "dlbridge: the element types of any_of are all T const, or all T");
  static_assert(!(std::is_same_v<More, converted> || ...),
                "dlbridge: any_of converts nothing. Write convert<T> for one element type");
  requirement need = span::required();
  need.alignment = 1;  // besides that of the dtype
  (detail::apply(need, More{}), ...);
  need.others = detail::dtypes_of<Rest...>;
  need.other_count = sizeof...(Rest);
  return need;
}

template <class List, class Visitor>
decltype(auto) visit(tensor_view const& view, Visitor&& visitor) {
  return detail::visit_types<void const>(view, visitor, List{});
}

template <class List, class Visitor>
decltype(auto) visit(any_tensor const& tensor, Visitor&& visitor) {
  return detail::visit_types<void const>(tensor_view(tensor), visitor, List{});
}

template <class List, class Visitor>
decltype(auto) visit(any_tensor& tensor, Visitor&& visitor) {
  return detail::visit_types<void>(tensor_view(tensor), visitor, List{});
}

DLBRIDGE_END_NAMESPACE
