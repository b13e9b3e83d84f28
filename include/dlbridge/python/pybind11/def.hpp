// dlbridge::def: binds a C++ function of tensors to a pybind11 module or class, with the extras of
// pybind11's def.
// layer: bindings · from a C++ function to a Python function
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/detail/overload_set.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/pybind11/detail/bound_function.hpp>
#include <dlbridge/python/pybind11/detail/insertion.hpp>
#include <dlbridge/python/pybind11/errors.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

namespace python {
namespace detail {
// The extras of def that it applies itself: call_guard around the C++ function alone, and returns.
template <class Extra>
constexpr bool is_guard = false;
template <class... Guards>
constexpr bool is_guard<py::call_guard<Guards...>> = true;

struct releases_gil {
  template <class Guard>
  static constexpr bool in = std::is_same_v<Guard, py::gil_scoped_release>;
};
template <class Extra>
constexpr bool is_releasing = false;
template <class... Guards>
constexpr bool is_releasing<py::call_guard<Guards...>> = (releases_gil::in<Guards> || ...);

template <class Extra>
void record_extra(function_record& record, Extra const& extra) {
  if constexpr (std::is_base_of_v<py::arg, Extra>) {
    if (!record.add_parameter(extra.name)) {
      throw_pending();
    }
  } else if constexpr (std::is_same_v<Extra, returns>) {
    record.result_library = extra.which;
  }
}

// A tuple of the extra if pybind11 applies it, otherwise an empty one.
template <class Extra>
auto pybind11_extra(Extra const& extra) {
  if constexpr (is_guard<Extra> || std::is_same_v<Extra, returns>) {
    return std::tuple<>();
  } else {
    return std::tuple<Extra const&>(extra);
  }
}

// A function object; a pointer to a member function takes the object as its first parameter.
template <class F>
F as_function(F function) {
  return function;
}
template <class Result, class Class, class... Parameters>
auto as_function(Result (Class::*member)(Parameters...)) {
  return [member](Class& self, Parameters... arguments) -> Result {
    return (self.*member)(std::forward<Parameters>(arguments)...);
  };
}
template <class Result, class Class, class... Parameters>
auto as_function(Result (Class::*member)(Parameters...) const) {
  return [member](Class const& self, Parameters... arguments) -> Result {
    return (self.*member)(std::forward<Parameters>(arguments)...);
  };
}

// Whether a type is a borrowed tensor or a container of such.
template <class T>
struct holds_span : std::bool_constant<parameter<T>::borrows> {};
template <template <class...> class Container, class... Elements>
struct holds_span<Container<Elements...>>
    : std::bool_constant<parameter<Container<Elements...>>::borrows ||
                         (holds_span<std::decay_t<Elements>>::value || ...)> {};
template <class Element, std::size_t Size>
struct holds_span<std::array<Element, Size>> : holds_span<Element> {};

template <class Signature>
constexpr bool takes_spans = false;
template <class Result, class... Parameters>
constexpr bool takes_spans<Result(Parameters...)> =
    (holds_span<std::decay_t<Parameters>>::value || ...);
template <class Signature>
constexpr bool returns_span = false;
template <class Result, class... Parameters>
constexpr bool returns_span<Result(Parameters...)> = parameter<std::decay_t<Result>>::borrows;

}  // namespace detail
}  // namespace python

/// Binds a function whose parameters and result may be tensors to a module or a class, as the def
/// of pybind11 does.
///
/// A call imports each tensor argument once. It reports all arguments that do not fit in one
/// TypeError. A second def of the same name adds an overload; calls try the overloads in the order
/// of definition. A tensor returns to Python as an object of the first of these libraries that
/// applies:
/// - the library that the extra `returns` names
/// - the origin of a result of type argument
/// - the library of the first tensor argument
/// - dlbridge, as a Tensor
/// @param scope the module_ or class_
/// @param name the name in Python
/// @param function a function, a function object or a pointer to a member function
/// @param extra pybind11's extras (py::arg, defaults, a docstring, call_guard, ...), and returns
/// @return scope
/// @throws pybind11::error_already_set TypeError, when scope has an attribute of that name that def
/// did not bind
/// @par Thread and GIL
/// The caller holds the GIL. A call holds it while it converts arguments and results. A call_guard
/// applies to the C++ function alone, and may release the GIL if no parameter is a tensor_span.
template <class Scope, class F, class... Extra>
Scope& def(Scope& scope, char const* name, F&& function, Extra const&... extra) {
  namespace pd = python::detail;
  auto callee = pd::as_function(std::forward<F>(function));
  using signature = pybind11::detail::function_signature_t<decltype(callee)>;
  using guard = pybind11::detail::extract_guard_t<Extra...>;
  static_assert(!((pd::is_releasing<Extra> || ...) && pd::takes_spans<signature>),
                "dlbridge: a tensor_span is borrowed while the GIL is held, and this call releases "
                "it. Take an owning tensor or argument instead");
  static_assert(
      !pd::returns_span<signature>,
      "dlbridge: a tensor_span that is returned would outlive its memory. Return an owning tensor "
      "(managed_tensor, tensor, argument), or dlbridge::member_view from a method, which keeps the "
      "object alive");
  auto record = std::make_unique<python::function_record>(name);
  if (!record->parameter_names || !python::names::prepare()) {
    pd::throw_pending();
  }
  (pd::record_extra(*record, extra), ...);
  auto extras = std::tuple_cat(pd::pybind11_extra(extra)...);
  pd::bound_function<decltype(callee), guard, signature> body(std::move(callee), *record);
  pybind11::object object = std::apply(
      [&](auto const&... own) -> pybind11::object {
        if constexpr (std::is_base_of_v<pybind11::detail::generic_type, Scope>) {
          return pybind11::cpp_function(std::move(body), pybind11::name(name),
                                        pybind11::is_method(scope), own...);
        } else {
          return pybind11::cpp_function(std::move(body), pybind11::name(name),
                                        pybind11::scope(scope), own...);
        }
      },
      extras);
  if (!python::insert_function(scope.ptr(), name, python::ref::steal(object.release().ptr()),
                               *record)) {
    pd::throw_pending();
  }
  static_cast<void>(record.release());  // the function refers to the record
  return scope;
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
