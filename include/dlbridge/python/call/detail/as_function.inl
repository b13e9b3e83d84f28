// as_function: makes a function object with known parameters of what def binds.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::binding {
// What a pointer to a function or to a member function states: its signature and, of a member, the
// class whose objects it takes, which is const for a const member function.
template <class F>
struct function_traits;
template <class Result, class... Parameters>
struct function_traits<Result (*)(Parameters...)> {
  using signature = Result(Parameters...);
};
template <class Result, class Class, class... Parameters>
struct function_traits<Result (Class::*)(Parameters...)> {
  using signature = Result(Parameters...);
  using object = Class;
};
template <class Result, class Class, class... Parameters>
struct function_traits<Result (Class::*)(Parameters...) const> {
  using signature = Result(Parameters...);
  using object = Class const;
};
template <class Result, class Class, class... Parameters>
struct function_traits<Result (Class::*)(Parameters...)&>
    : function_traits<Result (Class::*)(Parameters...)> {};
template <class Result, class Class, class... Parameters>
struct function_traits<Result (Class::*)(Parameters...) const&>
    : function_traits<Result (Class::*)(Parameters...) const> {};
template <class Result, class... Parameters>
struct function_traits<Result (*)(Parameters...) noexcept>
    : function_traits<Result (*)(Parameters...)> {};
template <class Result, class Class, class... Parameters>
struct function_traits<Result (Class::*)(Parameters...) noexcept>
    : function_traits<Result (Class::*)(Parameters...)> {};
template <class Result, class Class, class... Parameters>
struct function_traits<Result (Class::*)(Parameters...) const noexcept>
    : function_traits<Result (Class::*)(Parameters...) const> {};
template <class Result, class Class, class... Parameters>
struct function_traits<Result (Class::*)(Parameters...) & noexcept>
    : function_traits<Result (Class::*)(Parameters...)> {};
template <class Result, class Class, class... Parameters>
struct function_traits<Result (Class::*)(Parameters...) const & noexcept>
    : function_traits<Result (Class::*)(Parameters...) const> {};

// Whether the parameters of a function or a function object are known: of the latter, by its one
// operator().
template <class F, class = void>
constexpr bool has_signature = !std::is_class_v<F>;
template <class F>
constexpr bool has_signature<F, std::void_t<decltype(&F::operator())>> = true;

// The signature of a function or a function object, Result(Parameters...).
template <class F, class = void>
struct call_signature : function_traits<F> {};
template <class F>
struct call_signature<F, std::void_t<decltype(&F::operator())>>
    : function_traits<decltype(&F::operator())> {};

// A function object that calls a member function of Self.
template <class Self, class Result, class... Parameters, class Member>
auto method_call(Member member, Result (*)(Parameters...)) {
  return [member](Self& self, Parameters... arguments) -> Result {
    return (self.*member)(std::forward<Parameters>(arguments)...);
  };
}

/// A function object; a pointer to a member function takes the object as its first parameter.
/// @tparam Bound the class that is bound, or void. The object is one of it if it has the function,
/// as the base that declares the function need not be bound.
template <class Bound, class F>
auto as_function(F function) {
  if constexpr (std::is_member_function_pointer_v<F>) {
    using traits = function_traits<F>;
    using object = typename traits::object;
    using own = std::conditional_t<std::is_const_v<object>, Bound const, Bound>;
    using self = std::conditional_t<std::is_base_of_v<object, Bound>, own, object>;
    return method_call<self>(function, static_cast<typename traits::signature*>(nullptr));
  } else if constexpr (has_signature<F>) {
    return function;
  } else {
    static_assert(
        has_signature<F>,
        "dlbridge: def cannot read the parameter types of the one operator() of this function "
        "object. State them instead of auto; if the compiler reports an error inside a lambda "
        "above, correct that one instead");
    return [] {};  // so that no further error follows
  }
}
}  // namespace python::binding
DLBRIDGE_END_NAMESPACE
