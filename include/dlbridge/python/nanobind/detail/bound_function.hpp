// bound_function: the function object that def passes to nanobind, and the casters of its arguments
// and result.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <dlbridge/python/call/binding/bound_call.hpp>
#include <dlbridge/python/call/binding/library_types.hpp>
#include <dlbridge/python/call/binding/overload_call.hpp>
#include <dlbridge/python/call/container_result.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/nanobind/casters.hpp>
#include <dlbridge/python/nanobind/detail/bound_record.hpp>
#include <dlbridge/python/nanobind/detail/explanation.hpp>
#include <dlbridge/python/nanobind/errors.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace on_nanobind {

// The state that the overloads of one call share. A capsule in nanobind's list of the objects that
// the call owns holds it.
struct shared_state {
  std::unique_ptr<overload_call> imports = std::make_unique<overload_call>();

  static char const* name() noexcept { return "dlbridge.nanobind_call"; }
  static shared_state* of(PyObject* capsule) noexcept {
    return static_cast<shared_state*>(api<PyCapsule_GetPointer>(capsule, name()));
  }
  // Keeps the imports of a call that every overload refused, for the explanation of it.
  static void destroy(PyObject* capsule) noexcept {
    std::unique_ptr<shared_state> const state(of(capsule));
    if (!state->imports->is_accepted() && is_explained()) {
      refused_imports() = std::move(state->imports);
    }
  }
};

// The call of several overloads that an argument belongs to, or null. nanobind tries several
// overloads first without implicit conversions, so a call that has them begins thus.
template <class Flags>
overload_call* shared_call(nb::detail::cleanup_list* call, Flags flags,
                           PyObject* argument) noexcept {
  bool const is_first = (flags & static_cast<Flags>(nb::detail::cast_flags::convert)) == 0;
  if (call == nullptr || (!is_first && !call->used())) {
    return nullptr;
  }
  for (std::size_t i = 1; i < call->size(); ++i) {
    if (PyCapsule_IsValid((*call)[i], shared_state::name()) != 0) {
      return shared_state::of((*call)[i])->imports.get();
    }
  }
  if (!is_first) {
    return nullptr;
  }
  std::unique_ptr<shared_state> state(new (std::nothrow) shared_state);
  ref capsule = state ? ref::steal(api<PyCapsule_New>(state.get(), shared_state::name(),
                                                      &shared_state::destroy))
                      : ref();
  if (!capsule) {
    discard(take_exception());
    return nullptr;
  }
  call->append(capsule.release());
  // nanobind takes the last object of the list for a conversion of the argument, to which
  // nb::keep_alive and nb::call_policy then apply.
  Py_INCREF(argument);
  call->append(argument);
  return state.release()->imports.get();
}

// Whether the Python function of a record has other overloads, which plain nanobind may have added.
// True if its module or class is gone: nanobind then has the last word.
DLBRIDGE_COLD inline bool is_overloaded(bound_record const& record) noexcept {
  if (record.attribute.empty()) {
    return false;
  }
  error_keeper const pending;
  ref const scope = ref::steal(api<PyObject_CallNoArgs>(record.scope.get()));
  if (!scope || scope.get() == Py_None) {
    discard(take_exception());
    return true;
  }
  ref const function =
      ref::steal(api<PyObject_GetAttrString>(scope.get(), record.attribute.c_str()));
  ref const signatures =
      function ? ref::steal(api<PyObject_GetAttrString>(function.get(), "__nb_signature__"))
               : ref();
  discard(take_exception());
  return signatures && PyTuple_Check(signatures.get()) && PyTuple_GET_SIZE(signatures.get()) > 1;
}

// A tensor argument, with the call of several overloads that shares its imports, or null.
template <class P>
struct shared_argument : binding::given_tensor<P> {
  overload_call* call = nullptr;
};

// Whether a parameter refers to the object of a bound class, or is a Python object.
template <class P, class = void>
constexpr bool refers_to_object = std::is_base_of_v<nb::handle, std::decay_t<P>> ||
                                  (nb::detail::is_base_caster_v<nb::detail::make_caster<P>> &&
                                   (std::is_reference_v<P> || std::is_pointer_v<P>));
template <class P>  // a smart pointer
constexpr bool refers_to_object<
    P, std::enable_if_t<nb::detail::is_base_caster_v<
           nb::detail::make_caster<typename nb::detail::intrinsic_t<P>::element_type>>>> = true;

// The Library of a bound_call.
struct call_traits {
  using record = bound_record;
  template <class P>
  using given = shared_argument<P>;

  template <class P>
  using caster = nb::detail::make_caster<P>;
  template <class P>
  static P take(caster<P>& found) {
    if (!found.template can_cast<P>()) {  // this call or another one has taken it
      throw nb::next_overload();
    }
    return found.operator nb::detail::cast_t<P>();
  }

  [[noreturn]] static void throw_pending() { on_nanobind::throw_pending(); }
  // The object of a method is an instance of its class.
  template <class...>
  static constexpr auto object_test() -> bool (*)(PyObject*) {
    return nullptr;
  }
  template <class First = nb::handle, class...>
  static constexpr bool first_owns = refers_to_object<First>;
  template <class... Values>
  static overload_call* enter(bound_record const&, Values const&... values) noexcept {
    overload_call* call = nullptr;
    ((call = call != nullptr ? call : call_of(values)), ...);
    return call;
  }
  [[noreturn]] DLBRIDGE_COLD static void refuse(bound_record const& record, overload_call* call,
                                                refusals&& reasons) {
    bool const is_last_word = call == nullptr && !record.is_operator && !is_overloaded(record);
    if (!is_last_word && !reasons.fatal_exception()) {
      if (call != nullptr) {
        call->keep_reason(record, reasons.text());
      }
      throw nb::next_overload();
    }
    reasons.set_error(record.name.c_str());
    throw_pending();
  }

 private:
  template <class T>
  static overload_call* call_of(T const&) noexcept {
    return nullptr;
  }
  template <class P>
  static overload_call* call_of(shared_argument<P> const& value) noexcept {
    return value.call;
  }
};

// A function with its record.
template <class F, class Guard, class Signature>
class bound_function;
template <class F, class Guard, class Result, class... Parameters>
class bound_function<F, Guard, Result(Parameters...)> {
 public:
  bound_function(F function, std::unique_ptr<bound_record> record)
      : call_(std::move(function), *record), record_(std::move(record)) {}
  binding::library_result<call_traits, Result> operator()(
      binding::library_parameter<call_traits, Parameters>... values) const {
    return call_(std::forward<binding::library_parameter<call_traits, Parameters>>(values)...);
  }

 private:
  binding::bound_call<call_traits, F, Guard, Result(Parameters...)> call_;
  std::unique_ptr<bound_record> record_;
};

}  // namespace on_nanobind
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

namespace nanobind DLBRIDGE_LOCAL {
namespace detail {
template <class P>
struct type_caster<dlbridge::python::on_nanobind::shared_argument<P>> {
  using Value = dlbridge::python::on_nanobind::shared_argument<P>;
  // Without "| None", which nanobind writes.
  static constexpr auto Name = dlbridge::python::on_nanobind::descr_of<
      dlbridge::python::type_composer<P, dlbridge::python::place::parameter>>();
  template <class>
  using Cast = Value;
  template <class>
  static constexpr bool can_cast() noexcept {
    return true;
  }
  template <class Flags>
  bool from_python(handle source, Flags flags, cleanup_list* call) noexcept {
    value.object = source.ptr();
    value.call = dlbridge::python::on_nanobind::shared_call(call, flags, source.ptr());
    return value.call == nullptr || value.call->template may_accept<P>(source.ptr());
  }
  operator Value() const noexcept { return value; }
  Value value{};
};
template <class P>
struct type_caster<
    dlbridge::python::binding::found_object<dlbridge::python::on_nanobind::call_traits, P>> {
  using Value =
      dlbridge::python::binding::found_object<dlbridge::python::on_nanobind::call_traits, P>;
  static constexpr auto Name = make_caster<P>::Name;
  template <class>
  using Cast = Value;
  template <class>
  static constexpr bool can_cast() noexcept {
    return true;
  }
  template <class Flags>
  bool from_python(handle source, Flags flags, cleanup_list* call) noexcept {
    return caster.from_python(source, flags, call);
  }
  operator Value() noexcept { return {&caster}; }
  make_caster<P> caster{};
};
// nanobind passes None to such a parameter.
template <class P>
struct has_arg_defaults<dlbridge::python::on_nanobind::shared_argument<P>>
    : std::bool_constant<dlbridge::python::accepts_none<P>> {};

template <class R>
struct type_caster<dlbridge::python::binding::made_object<R>> {
  static constexpr auto Name = dlbridge::python::on_nanobind::descr_of<
      dlbridge::python::annotation_composer<R, dlbridge::python::place::result>>();
  static handle from_cpp(dlbridge::python::binding::made_object<R>&& result, rv_policy,
                         cleanup_list*) noexcept {
    return result.object.release();
  }
};
template <class R>
struct type_caster<dlbridge::python::binding::returned_value<R>> {
  static constexpr auto Name = dlbridge::python::on_nanobind::descr_of<
      dlbridge::python::annotation_composer<R, dlbridge::python::place::result>>();
  static handle from_cpp(dlbridge::python::binding::returned_value<R>&& result, rv_policy,
                         cleanup_list* call) noexcept {
    namespace dp = dlbridge::python;
    dp::ref object;
    dp::guarded([&] {
      object = dp::give_container(std::move(result.value), result.first_argument.get(), result.as,
                                  call != nullptr ? call->self() : nullptr);
    });
    return object.release();
  }
};
}  // namespace detail
}  // namespace nanobind DLBRIDGE_LOCAL
