// bound_function: the function object that def passes to pybind11; it imports and checks the
// tensors, calls the C++ function and converts the result.
// layer: bindings · one call of one overload, from Python arguments to a Python result
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <dlbridge/python/call/detail/overload_set.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/pybind11/casters.hpp>
#include <dlbridge/python/pybind11/errors.hpp>
#include <dlbridge/thread_exit.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
// A tensor argument as pybind11 passes it on. Its caster accepts every object; bound_function
// imports and checks it, and can therefore report why it does not fit.
template <class P>
struct raw_argument {
  PyObject* object = nullptr;
};
// A tensor result that bound_function has converted to a Python object.
template <class R>
struct converted_result {
  py::object object;
};

// The types that pybind11 converts in place of a parameter type A and a result type R.
template <class A>
using pybind11_parameter =
    std::conditional_t<is_tensor_parameter<std::decay_t<A>>, raw_argument<std::decay_t<A>>, A>;
template <class R>
using pybind11_result =
    std::conditional_t<is_result<std::decay_t<R>>, converted_result<std::decay_t<R>>, R>;

template <class F, class Guard, class Signature>
class bound_function;

template <class F, class Guard, class Result, class... Parameters>
class bound_function<F, Guard, Result(Parameters...)> {
  static constexpr std::size_t count = sizeof...(Parameters);

 public:
  bound_function(F function, function_record const& record)
      : function_(std::move(function)), record_(&record) {}

  pybind11_result<Result> operator()(pybind11_parameter<Parameters>... values) {
    return run(std::index_sequence_for<Parameters...>(), values...);
  }

 private:
  // An argument that is no tensor: pybind11 has converted it already.
  template <class A>
  struct converted_argument {
    load_result load(PyObject*) const noexcept { return load_result::fast; }
    bool confirm() const noexcept { return true; }
  };
  template <class A>
  using argument_for = std::conditional_t<is_tensor_parameter<std::decay_t<A>>,
                                          tensor_argument<std::decay_t<A>>, converted_argument<A>>;
  using argument_tuple = std::tuple<argument_for<Parameters>...>;

  template <class T>
  static PyObject* object_of(T const&) noexcept {
    return nullptr;
  }
  template <class P>
  static PyObject* object_of(raw_argument<P> const& value) noexcept {
    return value.object;
  }

  template <class A, class Value>
  static decltype(auto) forwarded_argument(argument_for<A>& argument, Value& value) {
    if constexpr (is_tensor_parameter<std::decay_t<A>>) {
      return argument.extract();
    } else {
      return std::forward<A>(value);
    }
  }

  template <std::size_t... I, class... Values>
  pybind11_result<Result> run(std::index_sequence<I...>, Values&... values) {
    overload_call* const call = record_->is_overloaded ? overload_call::enter(*record_) : nullptr;
    PyObject* const objects[count + 1] = {object_of(values)...};
    argument_tuple arguments;
    bool fits = true;
    if (call == nullptr) {
      fits = load_all(arguments, objects, std::index_sequence<I...>());
    } else {
      call->begin();
      fits = (static_cast<unsigned>(load_shared(*call, std::get<I>(arguments), objects[I])) & ... &
              1U) != 0;
    }
    if (!fits) {
      refuse(call, arguments, std::index_sequence<I...>());
    }
    if (call != nullptr) {
      call->accept();
    }
    if constexpr (is_result<std::decay_t<Result>>) {
      std::decay_t<Result> result =
          guarded_call(forwarded_argument<Parameters>(std::get<I>(arguments), values)...);
      PyObject* const first_argument = first_tensor<std::decay_t<Parameters>...>(objects);
      return {checked(give_result(std::move(result), first_argument,
                                  record_->result_library ? &*record_->result_library : nullptr))};
    } else {
      return guarded_call(forwarded_argument<Parameters>(std::get<I>(arguments), values)...);
    }
  }

  template <class... Forwarded>
  Result guarded_call(Forwarded&&... arguments) {
    try {
      [[maybe_unused]] Guard const guard{};
      return dlbridge::detail::call_guarded(
          [&]() -> Result { return function_(std::forward<Forwarded>(arguments)...); });
    } catch (python_error const&) {
      throw_pending();
    }
  }

  template <class A>
  static bool load_shared(overload_call&, converted_argument<A>&, PyObject*) noexcept {
    return true;
  }
  template <class P>
  static bool load_shared(overload_call& call, tensor_argument<P>& argument,
                          PyObject* object) noexcept {
    return call.load(argument, object);
  }

  template <class A>
  static void add_if_refused(refusals&, converted_argument<A>&, char const*, int) noexcept {}
  template <class P>
  static void add_if_refused(refusals& reasons, tensor_argument<P>& argument, char const* name,
                             int position) noexcept {
    reasons.add_if_refused(argument, name, position);
  }

  template <std::size_t... I>
  [[noreturn]] DLBRIDGE_COLD void refuse(overload_call* call, argument_tuple& arguments,
                                         std::index_sequence<I...>) {
    refusals reasons;
    (add_if_refused(reasons, std::get<I>(arguments), record_->parameter_name(I, count),
                    static_cast<int>(I) + 1),
     ...);
    if (call != nullptr) {
      call->refuse(std::move(reasons));
    } else {
      reasons.set_error(record_->name.c_str());
    }
    throw_pending();
  }

  F function_;
  function_record const* record_;
};

}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge

namespace pybind11 {
namespace detail {
template <class P>
class type_caster<dlbridge::python::detail::raw_argument<P>> {
 public:
  PYBIND11_TYPE_CASTER(dlbridge::python::detail::raw_argument<P>,
                       dlbridge::python::detail::tensor_caster<P>::name);
  bool load(handle source, bool) noexcept {
    value.object = source.ptr();
    return true;
  }
};
template <class R>
class type_caster<dlbridge::python::detail::converted_result<R>> {
 public:
  static constexpr auto name = const_name("typing.Any");
  static handle cast(dlbridge::python::detail::converted_result<R>&& result, return_value_policy,
                     handle) {
    return result.object.release();
  }
};
}  // namespace detail
}  // namespace pybind11
