// bound_function: the function object that def passes to a binding library; it accepts or refuses
// the arguments of a call, calls the C++ function and converts the result.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/container_argument.hpp>
#include <dlbridge/python/call/container_result.hpp>
#include <dlbridge/python/call/detail/active_call.hpp>
#include <dlbridge/python/call/detail/argument_check.hpp>
#include <dlbridge/python/call/detail/bind_arguments.hpp>
#include <dlbridge/python/call/detail/caller_scope.hpp>
#include <dlbridge/python/call/detail/function_record.hpp>
#include <dlbridge/python/call/detail/library_parameter.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::binding {
// What the C++ function gets for an argument.
template <class Library, class A, class P>
P forwarded_argument(loaded_argument<P>& value) {
  return value.argument.extract();
}
template <class Library, class A, class P>
P forwarded_argument(found_object<Library, P>& value) {
  return Library::template take<P>(*value.caster);
}
template <class Library, class A, class T>
T forwarded_argument(integer_argument<T>& value) {
  return value.value;
}
template <class Library, class A, class F>
F&& forwarded_argument(callback_argument<F>& value) {
  return std::move(value.value);
}
template <class Library, class A, class Value>
A&& forwarded_argument(Value& value) {
  return static_cast<A&&>(value);
}

// Loads an argument once more, to find why a candidate refuses a call.
template <class Value>
struct explained_argument {
  detail::no_loader argument{};
  static void load(PyObject*) noexcept {}
};
template <class P>
struct explained_argument<loaded_argument<P>&> {
  loader_of<P> argument{};
  void load(PyObject* object) noexcept {
    if (object == nullptr) {
      return;
    }
    if constexpr (is_tensor_parameter<P>) {
      argument.load_to_explain(object);
    } else {
      load_argument<P>(argument, object, true);
    }
  }
};
template <class Library, class... Parameters, std::size_t... Is>
void explain_arguments(function_record const& record, PyObject* const* objects, refusals& reasons,
                       std::index_sequence<Is...> indices) {
  std::tuple<explained_argument<library_parameter<Library, Parameters>>...> loaded;
  (std::get<Is>(loaded).load(objects[Is]), ...);
  detail::add_reasons(reasons, std::tie(std::get<Is>(loaded).argument...), record, indices);
}
// The explain of a function_record.
template <class Library, class... Parameters>
DLBRIDGE_COLD DLBRIDGE_NOINLINE void explain_call(function_record const& record, active_call& call,
                                                  refusals& reasons) {
  PyObject* objects[sizeof...(Parameters) + 1];
  ref about_call;
  if (detail::bind_arguments(record, call.arguments(), objects, about_call)) {
    explain_arguments<Library, Parameters...>(record, objects, reasons,
                                              std::index_sequence_for<Parameters...>());
  } else if (about_call) {
    reasons.add_about_call(about_call.get());
  }
}

// The caller_scope of a call whose function may give tensors to Python code, as it takes or returns
// what only the binding library converts: a callback, an object, a dict. Others have none.
struct no_scope {
  explicit no_scope(PyObject*) noexcept {}
};
template <class T>
constexpr bool is_of_library = detail::find_depth<std::decay_t<T>>() > 1;
template <>
inline constexpr bool is_of_library<void> = false;
template <class... Types>
using scope_of =
    std::conditional_t<(is_of_library<Types> || ...) &&
                           (detail::holds<detail::is_any_tensor, std::decay_t<Types>> || ...),
                       detail::caller_scope, no_scope>;

/// The part of a call that is the same for all binding libraries.
/// @tparam Library the binding library: throw_pending() throws the pending exception; pass_on()
/// throws passed_on, by which the library tries the next overload, if is_passed_on() of the
/// exception; caster<P> is its caster of a parameter that takes_ownership, and take<P> of it
/// returns the object or throws; first_owns<Parameters...> is whether the first parameter may refer
/// to memory of its Python object, and object_test<Parameters...>() which object it then is
/// @tparam Place where annotations state the results
/// @tparam Guard an object that lives as long as the C++ function runs
template <class Library, class F, class Guard, place Place, class Signature>
class bound_function;

template <class Library, class F, class Guard, place Place, class Result, class... Parameters>
class bound_function<Library, F, Guard, Place, Result(Parameters...)> {
  using indices = std::index_sequence_for<Parameters...>;
  static_assert(Place == place::result || !detail::holds<detail::is_any_tensor, Result> ||
                    !std::is_same_v<library_result<Library, Result, Place>, Result>,
                "dlbridge: returns applies to a tensor, and to containers of at most two levels. "
                "Convert each tensor of another result by dlbridge::to_python");

 public:
  bound_function(F function, std::unique_ptr<function_record> record)
      : function_(std::move(function)), record_(std::move(record)) {
    record_->explain = &explain_call<Library, Parameters...>;
  }

  DLBRIDGE_INLINE library_result<Library, Result, Place> operator()(
      library_parameter<Library, Parameters>... values) const {
    active_call* const call = accept(values...);
    try {
      return run(values...);
    } catch (python_error const& e) {
      e.restore();
      Library::throw_pending();
    } catch (typename Library::passed_on const& e) {
      if (call != nullptr && Library::is_passed_on(e)) {
        call->resume();
      }
      throw;
    }
  }

 private:
  // Returns the call, or null for a call without one. Throws if the function does not take the
  // arguments: the binding library then tries further overloads, or the reasons are raised.
  template <class... Values>
  DLBRIDGE_INLINE active_call* accept(Values&... values) const {
    detail::verdict const found = detail::argument_check<Values...>::accept(values...);
    active_call* const call = active_call::current();
    if (found != detail::verdict::accepted) {
      refuse(found, std::tie(detail::loader_in(values)...));
    }
    if (call != nullptr) {
      call->decide();
    }
    return call;
  }
  template <class Loaders>
  [[noreturn]] DLBRIDGE_COLD DLBRIDGE_NOINLINE void refuse(detail::verdict found,
                                                           Loaders loaders) const {
    active_call* const call = active_call::current();
    bool const is_last = call != nullptr && !call->has_overloads() && !record_->is_operator;
    if (found == detail::verdict::refused && !is_last) {
      Library::pass_on();
    }
    if (call != nullptr) {
      call->decide();
    }
    detail::set_reasons(loaders, *record_, indices());
    Library::throw_pending();
  }

  DLBRIDGE_INLINE library_result<Library, Result, Place> run(
      library_parameter<Library, Parameters>&... values) const {
    auto loaders = std::tie(detail::loader_in(values)...);
    [[maybe_unused]] scope_of<Result, Parameters...> const scope(detail::first_tensor_in(loaders));
    if constexpr (std::is_same_v<library_result<Library, Result, Place>, Result>) {
      return call_function(forwarded_argument<Library, Parameters>(values)...);
    } else {
      return convert(call_function(forwarded_argument<Library, Parameters>(values)...),
                     detail::first_tensor_in(loaders));
    }
  }
  template <class... Forwarded>
  Result call_function(Forwarded&&... arguments) const {
    [[maybe_unused]] Guard const guard{};
    return detail::call_function(
        [&]() -> Result { return function_(std::forward<Forwarded>(arguments)...); });
  }
  template <class Value>
  library_result<Library, Result, Place> convert(Value result, PyObject* first_argument) const {
    if constexpr (is_result<Value>) {
      ref object = python::give_result(std::move(result), first_argument, record_->results);
      if (!object) {
        Library::throw_pending();
      }
      return {std::move(object)};
    } else {
      return {std::move(result), ref::borrow(first_argument), record_->results,
              Library::template object_test<Parameters...>()};
    }
  }

  mutable F function_;
  std::unique_ptr<function_record> record_;
};
}  // namespace python::binding
DLBRIDGE_END_NAMESPACE
