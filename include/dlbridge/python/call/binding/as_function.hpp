// as_function: a function object for a function, or for a pointer to a member function, and its
// signature.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace binding {

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

// The signature of a function object, Result(Parameters...).
template <class F>
struct call_signature : call_signature<typename call_operator<F>::type> {};
template <class Result, class... Parameters>
struct call_signature<Result (*)(Parameters...)> {
  using type = Result(Parameters...);
};
template <class Result, class... Parameters>
struct call_signature<Result (*)(Parameters...) noexcept> {
  using type = Result(Parameters...);
};
template <class Result, class F, class... Parameters>
struct call_signature<Result (F::*)(Parameters...)> {
  using type = Result(Parameters...);
};
template <class Result, class F, class... Parameters>
struct call_signature<Result (F::*)(Parameters...) noexcept> {
  using type = Result(Parameters...);
};
template <class Result, class F, class... Parameters>
struct call_signature<Result (F::*)(Parameters...) const> {
  using type = Result(Parameters...);
};
template <class Result, class F, class... Parameters>
struct call_signature<Result (F::*)(Parameters...) const noexcept> {
  using type = Result(Parameters...);
};

// The class of the self of a member function of Class: the class that is bound, if there is one and
// it has the function, as the base that declares it need not be bound.
template <class Bound, class Class>
using self_of = std::conditional_t<std::is_base_of_v<Class, Bound>, Bound, Class>;

// A function object that calls a member function of Self.
template <class Self, class Result, class... Parameters, class Member>
auto method_call(Member member) {
  return [member](Self& self, Parameters... arguments) -> Result {
    return (self.*member)(std::forward<Parameters>(arguments)...);
  };
}
// A function object; a pointer to a member function takes the object as its first parameter.
// Bound: the class that is bound, or void
template <class Bound, class F>
F as_function(F function) {
  return function;
}
template <class Bound, class Result, class Class, class... Parameters>
auto as_function(Result (Class::*member)(Parameters...)) {
  return method_call<self_of<Bound, Class>, Result, Parameters...>(member);
}
template <class Bound, class Result, class Class, class... Parameters>
auto as_function(Result (Class::*member)(Parameters...) noexcept) {
  return method_call<self_of<Bound, Class>, Result, Parameters...>(member);
}
template <class Bound, class Result, class Class, class... Parameters>
auto as_function(Result (Class::*member)(Parameters...) &) {
  return method_call<self_of<Bound, Class>, Result, Parameters...>(member);
}
template <class Bound, class Result, class Class, class... Parameters>
auto as_function(Result (Class::*member)(Parameters...) & noexcept) {
  return method_call<self_of<Bound, Class>, Result, Parameters...>(member);
}
template <class Bound, class Result, class Class, class... Parameters>
auto as_function(Result (Class::*member)(Parameters...) const) {
  return method_call<self_of<Bound, Class> const, Result, Parameters...>(member);
}
template <class Bound, class Result, class Class, class... Parameters>
auto as_function(Result (Class::*member)(Parameters...) const noexcept) {
  return method_call<self_of<Bound, Class> const, Result, Parameters...>(member);
}
template <class Bound, class Result, class Class, class... Parameters>
auto as_function(Result (Class::*member)(Parameters...) const&) {
  return method_call<self_of<Bound, Class> const, Result, Parameters...>(member);
}
template <class Bound, class Result, class Class, class... Parameters>
auto as_function(Result (Class::*member)(Parameters...) const& noexcept) {
  return method_call<self_of<Bound, Class> const, Result, Parameters...>(member);
}

}  // namespace binding
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
