// bound_function: what def gives pybind11 for one C++ function: imports and checks the tensors,
// calls, and exports the result.
// layer: bindings · one call of one overload
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

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
// What def gives pybind11 in place of a tensor parameter: everything loads, and is looked at in
// the body, where refusals can say more.
template <class P>
struct raw_argument {
  PyObject* object = nullptr;
};
// The same for a tensor result, already an object.
template <class R>
struct settled {
  py::object object;
};

template <class A>
using passed =
    std::conditional_t<is_tensor_parameter<std::decay_t<A>>, raw_argument<std::decay_t<A>>, A>;
template <class R>
using returned = std::conditional_t<is_result<std::decay_t<R>>, settled<std::decay_t<R>>, R>;

template <class F, class Guard, class Signature>
class bound_function;

// One overload: imports its tensors, checks them all, calls, and sends the result home.
template <class F, class Guard, class Result, class... Parameters>
class bound_function<F, Guard, Result(Parameters...)> {
  static constexpr std::size_t count = sizeof...(Parameters);

 public:
  bound_function(F function, call_facts const& facts)
      : function_(std::move(function)), facts_(&facts) {}

  returned<Result> operator()(passed<Parameters>... given) {
    return run(std::index_sequence_for<Parameters...>(), given...);
  }

 private:
  template <class A>
  struct number {  // stands in for what is no tensor
    bool load(PyObject*) const noexcept { return true; }
  };
  template <class A>
  using slot = std::conditional_t<is_tensor_parameter<std::decay_t<A>>,
                                  tensor_argument<std::decay_t<A>>, number<A>>;
  using slots = std::tuple<slot<Parameters>...>;

  template <class T>
  static PyObject* object_of(T const&) noexcept {
    return nullptr;
  }
  template <class P>
  static PyObject* object_of(raw_argument<P> const& given) noexcept {
    return given.object;
  }

  template <class A, class Given>
  static decltype(auto) forwarded_argument(slot<A>& loaded, Given& given) {
    if constexpr (is_tensor_parameter<std::decay_t<A>>) {
      return loaded.take();
    } else {
      return std::forward<A>(given);
    }
  }

  template <std::size_t... I, class... Given>
  returned<Result> run(std::index_sequence<I...>, Given&... given) {
    overload_call* const set = facts_->overloaded ? overload_call::enter(*facts_) : nullptr;
    PyObject* const objects[count + 1] = {object_of(given)...};
    slots loaded;
    bool fits = true;
    if (set == nullptr) {
      fits = (static_cast<unsigned>(std::get<I>(loaded).load(objects[I])) & ... & 1U) != 0;
    } else {
      set->begin();
      fits = (static_cast<unsigned>(load_shared(*set, std::get<I>(loaded), objects[I])) & ... &
              1U) != 0;
    }
    if (!fits) {
      refuse(set, loaded, std::index_sequence<I...>());
    }
    if (set != nullptr) {
      set->accept();
    }
    if constexpr (is_result<std::decay_t<Result>>) {
      std::decay_t<Result> made =
          guarded_call(forwarded_argument<Parameters>(std::get<I>(loaded), given)...);
      PyObject* const like = first_tensor<std::decay_t<Parameters>...>(objects);
      return {checked(give_result(std::move(made), like, facts_->home ? &*facts_->home : nullptr))};
    } else {
      return guarded_call(forwarded_argument<Parameters>(std::get<I>(loaded), given)...);
    }
  }

  template <class... Passed>
  Result guarded_call(Passed&&... values) {
    try {
      [[maybe_unused]] Guard const guard{};
      return function_(std::forward<Passed>(values)...);
    } catch (python_error const&) {
      throw_pending();
    }
  }

  template <class A>
  static bool load_shared(overload_call&, number<A>&, PyObject*) noexcept {
    return true;
  }
  template <class P>
  static bool load_shared(overload_call& set, tensor_argument<P>& loaded,
                          PyObject* object) noexcept {
    return set.load(loaded, object);
  }

  template <class A>
  static void ask(refusals&, number<A>&, char const*, int) noexcept {}
  template <class P>
  static void ask(refusals& why, tensor_argument<P>& loaded, char const* name, int at) noexcept {
    why.ask(loaded, name, at);
  }

  template <std::size_t... I>
  [[noreturn]] DLBRIDGE_COLD void refuse(overload_call* set, slots& loaded,
                                         std::index_sequence<I...>) {
    refusals why;
    (ask(why, std::get<I>(loaded), facts_->parameter(I, count), static_cast<int>(I) + 1), ...);
    if (set != nullptr) {
      set->refuse(std::move(why));
    } else {
      why.set_error(facts_->name.c_str());
    }
    throw_pending();
  }

  F function_;
  call_facts const* facts_;
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
class type_caster<dlbridge::python::detail::settled<R>> {
 public:
  static constexpr auto name = const_name("typing.Any");
  static handle cast(dlbridge::python::detail::settled<R>&& result, return_value_policy, handle) {
    return result.object.release();
  }
};
}  // namespace detail
}  // namespace pybind11
