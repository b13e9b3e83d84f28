// as_function: makes a function object with known parameters of what def binds.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace binding {

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

// The pointer to the one operator() of a function object, whose parameters are known.
template <class F, class = void>
struct call_operator {
  static_assert(
      sizeof(F) == 0,
      "dlbridge: def cannot read the parameter types of the one operator() of this function "
      "object. State them instead of auto; if the compiler reports an error inside a lambda above, "
      "correct that one instead");
  using type = void (*)();  // so that no further error follows
};
template <class F>
struct call_operator<F, std::void_t<decltype(&F::operator())>> {
  using type = decltype(&F::operator());
};

// The signature of a function or a function object, Result(Parameters...).
template <class F, bool IsObject = std::is_class_v<F>>
struct call_signature : function_traits<F> {};
template <class F>
struct call_signature<F, true> : function_traits<typename call_operator<F>::type> {};

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
  } else {
    return function;
  }
}

}  // namespace binding
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
