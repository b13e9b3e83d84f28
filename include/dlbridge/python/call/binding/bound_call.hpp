// bound_call: one call of a C++ function that a binding library bound; it loads the arguments,
// calls the function and converts the result.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/binding/function_record.hpp>
#include <dlbridge/python/call/binding/library_types.hpp>
#include <dlbridge/python/call/binding/overload_call.hpp>
#include <dlbridge/python/call/container_argument.hpp>
#include <dlbridge/python/call/detail/element_kinds.hpp>
#include <dlbridge/python/call/detail/load_all.hpp>
#include <dlbridge/python/call/detail/named_extents.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/member_view.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/thread_exit.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace binding {

// An argument that is no tensor: the binding library has converted it already.
template <class A>
struct converted_argument {
  load_result load(PyObject*) const noexcept { return load_result::fast; }
  bool confirm() const noexcept { return true; }
  bool is_fatal() const noexcept { return false; }
};
template <class A>
void add_if_refused(refusals&, converted_argument<A>&, char const*, int) noexcept {}

// What loads one parameter: a tensor_argument, a container_argument or a converted_argument.
template <class Library, class A, bool IsContainer = is_container_parameter<Library, A>>
struct argument_of {
  using type = std::conditional_t<is_tensor_parameter<std::decay_t<A>>,
                                  tensor_argument<std::decay_t<A>>, converted_argument<A>>;
};
template <class Library, class A>
struct argument_of<Library, A, true> {
  using type = container_argument<std::decay_t<A>>;
};
template <class Library, class A>
using argument_for = typename argument_of<Library, A>::type;

// The Python object of an argument; null for one that the binding library has converted.
template <class Library, class A, class Value>
PyObject* object_of(Value const& value) noexcept {
  if constexpr (is_imported<Library, A>) {
    return value.object;
  } else {
    return nullptr;
  }
}

// What the C++ function gets for a loaded argument.
template <class Library, class A, class Value>
decltype(auto) forwarded_argument(argument_for<Library, A>& argument, Value& value) {
  if constexpr (is_imported<Library, A>) {
    return argument.extract();
  } else if constexpr (takes_ownership<A>) {
    return Library::template take<std::decay_t<A>>(*value.caster);
  } else {
    return std::forward<A>(value);
  }
}

// How the messages of a refused call name the parameters of a function.
struct named_parameters {
  function_record const& record;
  std::size_t count;

  char const* name(std::size_t i) const noexcept { return record.parameter_name(i, count); }
  int position(std::size_t i) const noexcept { return record.position(i); }
};

// Loads an argument of one of several overloads, which share what they import.
template <class A>
bool load_shared(overload_call& call, converted_argument<A>&, PyObject*) noexcept {
  call.expect_changes();  // by __float__ and others, after may_accept imported a tensor
  return true;
}
template <class P>
bool load_shared(overload_call& call, tensor_argument<P>& argument, PyObject* object) noexcept {
  return call.load(argument, object);
}
// An iterator is refused, as the first candidate would leave nothing of it to the others.
template <class P>
bool load_shared(overload_call& call, container_argument<P>& argument, PyObject* object) noexcept {
  call.expect_changes();
  return argument.load(object, PyIter_Check(object) == 0) != load_result::refused;
}

// Loads the arguments of one of several overloads.
template <class Arguments, std::size_t... Is>
DLBRIDGE_NOINLINE bool load_all_shared(overload_call& call, Arguments& arguments,
                                       PyObject* const* objects,
                                       std::index_sequence<Is...> indices) noexcept {
  call.begin();
  bool fits = true;
  static_cast<void>(((fits = load_shared(call, std::get<Is>(arguments), objects[Is]) && fits,
                      fits || !std::get<Is>(arguments).is_fatal()) &&
                     ...));
  if (!fits || (call.expects_changes() && !(std::get<Is>(arguments).confirm() && ...)) ||
      !detail::agree_on_extents(arguments, indices)) {
    return false;
  }
  call.accept();
  return true;
}

template <class Library, class... Arguments>
[[noreturn]] DLBRIDGE_COLD void refuse(typename Library::record const& record, overload_call* call,
                                       std::tuple<Arguments...>& arguments) {
  refusals reasons;
  detail::add_reasons(reasons, arguments, named_parameters{record, sizeof...(Arguments)},
                      std::index_sequence_for<Arguments...>());
  Library::refuse(record, call, std::move(reasons));
}

// Loads the arguments of a call, or refuses it. Functions of the same parameters share this code.
template <class Library, class... Arguments, class... Parameters, std::size_t... Is,
          class... Values>
DLBRIDGE_NOINLINE void load_or_refuse(typename Library::record const& record,
                                      std::tuple<Arguments...>& arguments,
                                      element_list<Parameters...>,
                                      std::index_sequence<Is...> indices, Values&... values) {
  // With one parameter, this function exists once for each type of parameter anyway.
  constexpr auto where =
      sizeof...(Is) == 1 ? detail::load_code::in_line : detail::load_code::out_of_line;
  // One array for each way: compilers keep that of the usual way in registers.
  using object_array = PyObject* const[sizeof...(Is) == 0 ? 1 : sizeof...(Is)];
  overload_call* const call = Library::enter(record, values...);
  bool fits = false;
  if (call == nullptr) {
    object_array objects = {object_of<Library, Parameters>(values)...};
    fits = detail::load_all<where>(arguments, objects, indices) &&
           detail::agree_on_extents(arguments, indices);
  } else {
    object_array objects = {object_of<Library, Parameters>(values)...};
    fits = load_all_shared(*call, arguments, objects, indices);
  }
  if (!fits) {
    refuse<Library>(record, call, arguments);
  }
}

/// The part of a call that is the same for all binding libraries.
/// @tparam Library the binding library: record is its function_record; given<P> is its
/// given_tensor; throw_pending() throws the pending exception; caster<P> is its caster of a
/// parameter that takes_ownership, and take<P> of it returns the object or throws;
/// first_owns<Parameters...> is whether the first parameter may refer to memory of its Python
/// object; enter(record, values...) returns the overload_call of a call, or null; refuse(record,
/// call, reasons) throws
/// @tparam Guard an object that lives as long as the C++ function runs
template <class Library, class F, class Guard, class Signature>
class bound_call;

template <class Library, class F, class Guard, class Result, class... Parameters>
class bound_call<Library, F, Guard, Result(Parameters...)> {
  static constexpr std::size_t count = sizeof...(Parameters);
  using record_type = typename Library::record;

 public:
  bound_call(F function, record_type const& record)
      : function_(std::move(function)), record_(record) {}

  DLBRIDGE_INLINE library_result<Library, Result> operator()(
      library_parameter<Library, Parameters>... values) const {
    return run(std::index_sequence_for<Parameters...>(), values...);
  }

 private:
  template <std::size_t... Is, class... Values>
  DLBRIDGE_INLINE library_result<Library, Result> run(std::index_sequence<Is...>,
                                                      Values&... values) const {
    std::tuple<argument_for<Library, Parameters>...> arguments;
    load_or_refuse<Library>(record_, arguments, element_list<Parameters...>(),
                            std::index_sequence<Is...>(), values...);
    if constexpr (!std::is_same_v<library_result<Library, Result>, Result>) {
      std::decay_t<Result> result =
          guarded_call(forwarded_argument<Library, Parameters>(std::get<Is>(arguments), values)...);
      PyObject* const first_argument = detail::first_tensor_in(arguments);
      if constexpr (is_result<std::decay_t<Result>>) {
        return {given(python::give_result(std::move(result), first_argument, record_.results))};
      } else {
        return {std::move(result), ref::borrow(first_argument), record_.results,
                Library::template object_test<Parameters...>()};
      }
    } else {
      return guarded_call(
          forwarded_argument<Library, Parameters>(std::get<Is>(arguments), values)...);
    }
  }

  template <class... Forwarded>
  Result guarded_call(Forwarded&&... arguments) const {
    try {
      [[maybe_unused]] Guard const guard{};
      return detail::call_function(
          [&]() -> Result { return function_(std::forward<Forwarded>(arguments)...); });
    } catch (python_error const& e) {
      e.restore();
      Library::throw_pending();
    }
  }

  static ref given(ref object) {
    if (!object) {
      Library::throw_pending();
    }
    return object;
  }

  mutable F function_;
  record_type const& record_;
};

}  // namespace binding
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
