// type_caster<P>: converts every tensor type for functions that plain nanobind binds, and for
// nb::cast.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

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
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/member_view.hpp>
#include <dlbridge/python/call/or_other.hpp>
#include <dlbridge/python/call/origin.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/nanobind/detail/private_names.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/tensor.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace on_nanobind {
// An annotation as a descr, nanobind's compile-time string.
template <class Composer, std::size_t... Is>
constexpr auto make_descr(std::index_sequence<Is...>) {
  constexpr auto text = compose<Composer>();
  return make_text<text.data[Is]...>();
}
template <class Composer>
constexpr auto descr_of() {
  return make_descr<Composer>(std::make_index_sequence<compose<Composer>().size>());
}

// Discards the exception of an object that does not fit, as nanobind's casters cannot pass it on. A
// KeyboardInterrupt is raised once more when Python code runs next.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline void discard(ref exception) noexcept {
  if (exception && PyErr_GivenExceptionMatches(exception.get(), PyExc_KeyboardInterrupt) != 0) {
    api<PyErr_SetInterrupt>();
  }
}

// A parameter of type P whose tensor is owned. nanobind destroys the casters of the elements of a
// container before the call, so a span refers to a tensor that the call owns.
template <class P>
struct owned {
  P value{};
};
}  // namespace on_nanobind

/// @cond
template <class P>
struct parameter<on_nanobind::owned<P>> : parameter<P> {
  static constexpr import_mode mode = import_mode::own;
  static on_nanobind::owned<P> make(imported_tensor& from, PyObject* object) noexcept;
};
/// @endcond

namespace on_nanobind {
// Makes the call own an object of C++. Null if that is impossible.
template <class T>
T* keep_for_call(T&& value, call_objects& call) noexcept;

// The caster of a tensor type: from_python() imports an argument, the conversion operator returns
// it, and from_cpp() converts a result.
template <class P>
class tensor_caster {
  struct kept_argument {
    ref object{};  // its producer may empty the container
    tensor_argument<owned<P>> argument{};
  };

 public:
  // One annotation for parameters, another for results.
  static constexpr auto Name = make_text("@") +
                               descr_of<annotation_composer<P, place::parameter>>() +
                               make_text("@typing.Any@");
  using Value = P;
  template <class>
  using Cast = P;
  // Casters of containers ask, as they cannot pass on an exception.
  template <class>
  bool can_cast() const noexcept {
    return kept_->argument.confirm();
  }

  template <class Flags>  // uint32_t, or uint8_t before nanobind 3
  bool from_python(nb::handle source, Flags flags, call_objects* call) noexcept;
  operator P();

  static nb::handle from_cpp(P&& result, nb::rv_policy, call_objects*) noexcept;
  template <class Lvalue>
  static nb::handle from_cpp(Lvalue const&, nb::rv_policy, call_objects*) noexcept;

 private:
  std::optional<kept_argument> own_{};
  kept_argument* kept_ = nullptr;  // own_, or an object of the call
};
}  // namespace on_nanobind
}  // namespace python
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/nanobind/casters.inl>
