// dlbridge::def: binds a function of tensors with everything that pybind11 offers.
// layer: bindings · IN and OUT: what an extension author writes
#pragma once

#include <pybind11/pybind11.h>

#include <tuple>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/detail/overload_set.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/pybind11/detail/bound_function.hpp>
#include <dlbridge/python/pybind11/detail/insertion.hpp>
#include <dlbridge/python/pybind11/errors.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

namespace python {
namespace detail {
// Extras of def that are not pybind11's, or that def has to apply itself.
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
void note_extra(call_facts& facts, Extra const& extra) {
  if constexpr (std::is_base_of_v<py::arg, Extra>) {
    facts.add_parameter(extra.name);
  } else if constexpr (std::is_same_v<Extra, returns>) {
    facts.home = extra.which;
  }
}

// What is pybind11's own among the extras.
template <class Extra>
auto kept_extra(Extra const& extra) {
  if constexpr (is_guard<Extra> || std::is_same_v<Extra, returns>) {
    return std::tuple<>();
  } else {
    return std::tuple<Extra const&>(extra);
  }
}

template <class F>
F as_function(F function) {
  return function;
}
template <class Result, class Class, class... Parameters>
auto as_function(Result (Class::*member)(Parameters...)) {
  return [member](Class& self, Parameters... given) -> Result {
    return (self.*member)(std::forward<Parameters>(given)...);
  };
}
template <class Result, class Class, class... Parameters>
auto as_function(Result (Class::*member)(Parameters...) const) {
  return [member](Class const& self, Parameters... given) -> Result {
    return (self.*member)(std::forward<Parameters>(given)...);
  };
}

template <class Signature>
constexpr bool takes_spans = false;
template <class Result, class... Parameters>
constexpr bool takes_spans<Result(Parameters...)> =
    (parameter<std::decay_t<Parameters>>::borrows || ...);
template <class Signature>
constexpr bool returns_span = false;
template <class Result, class... Parameters>
constexpr bool returns_span<Result(Parameters...)> = parameter<std::decay_t<Result>>::borrows;

}  // namespace detail
}  // namespace python

/// Binds a function whose parameters may be tensors, to a module or a class, as module_::def does:
/// with pybind11's extras (py::arg, defaults, a docstring, call_guard), and returns.
///
/// Each tensor argument is imported once; all that does not fit is said in one TypeError. Another
/// def of the same name adds an overload: they are tried in order. Tensors go back as the type of
/// the argument they were made by (argument), or of the first tensor argument, unless returns says
/// another library; without tensor arguments as dlbridge.Tensor.
/// thread and GIL: held while arguments come in and results go out; a call_guard holds for the
/// function alone, and may release it if no parameter is a tensor_span.
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
      "dlbridge: a tensor_span that is returned would outlive what it looks at. Return an "
      "owning tensor (managed_tensor, tensor, argument), or dlbridge::member_view from a method, "
      "which keeps the object alive");
  auto* const facts = new python::call_facts(name);
  (pd::note_extra(*facts, extra), ...);
  auto kept = std::tuple_cat(pd::kept_extra(extra)...);
  pd::bound_function<decltype(callee), guard, signature> body(std::move(callee), *facts);
  pybind11::object made = std::apply(
      [&](auto const&... own) -> pybind11::object {
        if constexpr (std::is_base_of_v<pybind11::detail::generic_type, Scope>) {
          return pybind11::cpp_function(std::move(body), pybind11::name(name),
                                        pybind11::is_method(scope), own...);
        } else {
          return pybind11::cpp_function(std::move(body), pybind11::name(name),
                                        pybind11::scope(scope), own...);
        }
      },
      kept);
  if (!python::insert_function(scope.ptr(), name, python::ref::steal(made.release().ptr()),
                               *facts)) {
    pd::throw_pending();
  }
  return scope;
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
