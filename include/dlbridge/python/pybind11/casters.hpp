// type_caster<P>: converts every tensor type for functions that plain pybind11 binds, and for
// py::cast.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include <dlbridge/any_tensor.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/call/any_argument.hpp>
#include <dlbridge/python/call/argument.hpp>
#include <dlbridge/python/call/detail/annotation.hpp>
#include <dlbridge/python/call/detail/literal_text.hpp>
#include <dlbridge/python/call/member_view.hpp>
#include <dlbridge/python/call/or_other.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/pybind11/detail/private_names.hpp>
#include <dlbridge/python/pybind11/errors.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/tensor.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_pybind11 {
// An annotation as a descr, pybind11's compile-time string.
template <class Composer, std::size_t... Is>
constexpr auto make_descr(std::index_sequence<Is...>) {
  constexpr auto text = compose<Composer>();
  return make_text<text.data[Is]...>();
}
template <class T, place Place>
constexpr auto descr_of() {
  using composer = annotation_composer<T, Place>;
  return make_descr<composer>(std::make_index_sequence<compose<composer>().size>());
}

// Extracts a borrowed tensor from a caster that may not live as long as the call: pybind11 destroys
// the casters of a container's elements before the call, and those of py::cast at once. The import
// and the object are kept until the function of pybind11 that is being called returns. Outside one,
// pybind11 throws cast_error.
template <class P>
P extract_for_call(tensor_argument<P>&& source);

// The caster of a tensor type: load() imports an argument, the conversion operator moves it out,
// and cast() converts a result.
template <class P>
class tensor_caster {
 public:
  // One annotation for parameters, another for results.
  static constexpr auto name =
      make_text("@") + descr_of<P, place::parameter>() + make_text("@typing.Any@");

  tensor_caster() noexcept {}  // user-provided: value-initialization does not zero the members

  // Throws an exception of the producer that is no refusal, such as KeyboardInterrupt.
  //
  // The caster of a parameter, which lives until the call returns, is known by what it is passed: a
  // handle& and a `convert` from pybind11's own vector. Casters of containers pass an lvalue, and
  // py::cast a const handle& and `true`: it raises the reason of a refusal, also for what a
  // std::function and PYBIND11_OVERRIDE return.
  template <class Source, class Convert>
  bool load(Source&& source, Convert&& convert);

  // Only parameters of type P const& use the reference; their casters outlive the call.
  template <class T>
  using cast_op_type = std::conditional_t<parameter<P>::borrows && std::is_lvalue_reference_v<T> &&
                                              std::is_const_v<std::remove_reference_t<T>>,
                                          P const&, P>;
  operator P();
  operator P const&();

  static py::handle cast(P&& result, py::return_value_policy, py::handle);
  template <class Lvalue>
  static py::handle cast(Lvalue const&, py::return_value_policy, py::handle);

 private:
  bool load_object(py::handle source, bool convert);

  // Nothing but the container keeps an element, and its producer may empty that.
  bool load_element(py::handle source, bool convert);

  DLBRIDGE_INLINE bool finish_load(load_result result);

  [[noreturn]] DLBRIDGE_COLD DLBRIDGE_NOINLINE void raise_refusal();

  void confirm();

  ref kept_{};  // the object of an element
  std::optional<tensor_argument<P>> argument_{};
  std::optional<P> extracted_{};
  bool is_parameter_ = false;  // of a bound function, whose caster outlives the call
};
}  // namespace python::on_pybind11
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/pybind11/casters.inl>
