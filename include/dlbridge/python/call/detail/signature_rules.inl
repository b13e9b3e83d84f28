// require_signature: refuses to compile a function whose tensors cannot be passed, or whose spans
// would outlive their memory.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/detail/element_kinds.hpp>
#include <dlbridge/python/call/detail/library_parameter.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
template <class T, class Shape>
class broadcast_span;

namespace python::binding {
template <class Signature>
constexpr bool takes_spans = false;
template <class Result, class... Parameters>
constexpr bool takes_spans<Result(Parameters...)> =
    (detail::holds_span<std::decay_t<Parameters>>::value || ...);
template <class Signature>
constexpr bool returns_span = false;
template <class Result, class... Parameters>
constexpr bool returns_span<Result(Parameters...)> =
    detail::holds_span<std::decay_t<Result>>::value;

// Whether T is a view of the C++ interface that no binding converts.
template <class T>
constexpr bool is_unbound_view = std::is_same_v<T, tensor_view>;
template <class T, class Shape>
constexpr bool is_unbound_view<broadcast_span<T, Shape>> = true;
template <class Signature>
constexpr bool has_unbound_views = false;
template <class Result, class... Parameters>
constexpr bool has_unbound_views<Result(Parameters...)> =
    is_unbound_view<std::decay_t<Result>> || (is_unbound_view<std::decay_t<Parameters>> || ...);

template <class Signature>
constexpr bool takes_lvalues = false;
template <class Result, class... Parameters>
constexpr bool takes_lvalues<Result(Parameters...)> =
    ((std::is_lvalue_reference_v<Parameters> &&
      !std::is_const_v<std::remove_reference_t<Parameters>> &&
      is_tensor_parameter<std::decay_t<Parameters>>) ||
     ...);

template <class Library, class Signature>
constexpr bool returns_lvalue = false;
template <class Library, class Result, class... Parameters>
constexpr bool returns_lvalue<Library, Result(Parameters...)> =
    std::is_lvalue_reference_v<Result> && !detail::is_copyable<std::decay_t<Result>> &&
    !std::is_same_v<library_result<Library, Result>, Result>;
template <class Library, class Signature>
constexpr bool views_unowned = false;
template <class Library, class Result, class... Parameters>
constexpr bool views_unowned<Library, Result(Parameters...)> =
    detail::is_view_or_holds_one<std::decay_t<Result>> &&
    !Library::template first_owns<Parameters...>;

template <class Library, bool ReleasesGil, class Signature>
constexpr void require_signature() noexcept {
  static_assert(!returns_lvalue<Library, Signature>,
                "dlbridge: a tensor is returned by value. Return one that a function takes by "
                "value with std::move; or a dlbridge::member_view, of memory of an object");
  static_assert(!views_unowned<Library, Signature>,
                "dlbridge: a member_view keeps the Python object of the first parameter alive, "
                "which must own the memory. Take a bound class there, by reference, pointer or "
                "smart pointer, or a Python object; or return an owning tensor");
  static_assert(!has_unbound_views<Signature>,
                "dlbridge: a tensor_view or a broadcast_span is neither a parameter nor a result. "
                "Take any_argument or a tensor_span, and return an owning tensor or, from a "
                "method, dlbridge::member_view");
  static_assert(!takes_lvalues<Signature>,
                "dlbridge: a tensor parameter is no reference to a non-const object. Take it by "
                "value or by reference to const; elements of a non-const type are writable");
  static_assert(!(ReleasesGil && takes_spans<Signature>),
                "dlbridge: a tensor_span is borrowed while the GIL is held, and this call releases "
                "it. Take an owning tensor or argument instead");
  static_assert(
      !returns_span<Signature>,
      "dlbridge: a tensor_span that is returned would outlive its memory. Return an owning tensor "
      "(managed_tensor, tensor, argument), or dlbridge::member_view from a method, which keeps the "
      "object alive");
}
}  // namespace python::binding
DLBRIDGE_END_NAMESPACE
