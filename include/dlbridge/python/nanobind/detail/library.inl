// library: what bound_function needs to know of nanobind; the casters of its arguments and results.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/python/call/container_result.hpp>
#include <dlbridge/python/call/detail/active_call.hpp>
#include <dlbridge/python/call/detail/element_kinds.hpp>
#include <dlbridge/python/call/detail/library_parameter.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/nanobind/casters.hpp>
#include <dlbridge/python/nanobind/detail/private_names.hpp>
#include <dlbridge/python/nanobind/errors.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_nanobind {
// Whether a parameter refers to the object of a bound class, or is a Python object.
template <class P, class = void>
constexpr bool refers_to_object =
    std::is_base_of_v<nb::handle, std::decay_t<P>> ||
    (is_class_caster<caster_of<P>> && (std::is_reference_v<P> || std::is_pointer_v<P>));
template <class P>  // a smart pointer: classes such as std::span have an element_type too
constexpr bool refers_to_object<
    P, std::enable_if_t<!is_class_caster<caster_of<P>> &&
                        is_class_caster<caster_of<typename std::decay_t<P>::element_type>>>> = true;

struct library {
  using args = nb::args;
  using kwargs = nb::kwargs;

  static constexpr bool truncates_numbers = false;
  static constexpr bool swaps_places = true;

  template <class P>
  using caster = caster_of<P>;
  template <class P>
  static P take(caster<P>& found);

  using passed_on = nb::builtin_exception;
  static bool is_passed_on(passed_on const& e) noexcept {
    return e.type() == nb::exception_type::next_overload;
  }
  [[noreturn]] static void pass_on() { throw nb::next_overload(); }
  [[noreturn]] static void throw_pending() { on_nanobind::throw_pending(); }

  template <class First = nb::handle, class...>
  static constexpr bool first_owns = refers_to_object<First>;
  // The object of a method is an instance of its class.
  template <class...>
  static constexpr auto object_test() -> bool (*)(PyObject*) {
    return nullptr;
  }
};
}  // namespace python::on_nanobind
DLBRIDGE_END_NAMESPACE

namespace nanobind DLBRIDGE_LOCAL {
namespace detail {
template <class P>
struct type_caster<dlbridge::python::detail::loaded_argument<P>> {
  using Value = dlbridge::python::detail::loaded_argument<P>;
  // Without "| None", which nanobind writes.
  static constexpr auto Name = dlbridge::python::on_nanobind::descr_of<
      dlbridge::python::type_composer<P, dlbridge::python::place::parameter>>();
  template <class>
  using Cast = Value&;
  template <class>
  static constexpr bool can_cast() noexcept {
    return true;
  }
  template <class Flags>
  bool from_python(handle source, Flags flags, cleanup_list* call);
  operator Value&() noexcept { return value; }

  type_caster() noexcept {}  // user-provided: value-initialization does not zero the members
  Value value{};
};
template <class P>
struct type_caster<
    dlbridge::python::binding::found_object<dlbridge::python::on_nanobind::library, P>> {
  using Value = dlbridge::python::binding::found_object<dlbridge::python::on_nanobind::library, P>;
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
struct has_arg_defaults<dlbridge::python::detail::loaded_argument<P>>
    : std::bool_constant<dlbridge::python::accepts_none<P>> {};
template <template <class> class Function, class R, class... Parameters>
struct type_caster<dlbridge::python::binding::callback_argument<Function<R(Parameters...)>>>
    : make_caster<Function<R(Parameters...)>> {
  using Value = dlbridge::python::binding::callback_argument<Function<R(Parameters...)>>;
  static constexpr auto Name =
      make_caster<Function<R(dlbridge::python::binding::library_result<
                             dlbridge::python::on_nanobind::library, Parameters>...)>>::Name;
  template <class>
  using Cast = Value;
  operator Value() noexcept { return {std::move(this->value)}; }
};
template <class R, dlbridge::python::place Place>
struct type_caster<dlbridge::python::binding::made_object<R, Place>> {
  static constexpr auto Name =
      dlbridge::python::on_nanobind::descr_of<dlbridge::python::annotation_composer<R, Place>>();
  static handle from_cpp(dlbridge::python::binding::made_object<R, Place>&& result, rv_policy,
                         cleanup_list*) noexcept {
    return result.object.release();
  }
};
template <class R, dlbridge::python::place Place>
struct type_caster<dlbridge::python::binding::returned_value<R, Place>> {
  static constexpr auto Name =
      dlbridge::python::on_nanobind::descr_of<dlbridge::python::annotation_composer<R, Place>>();
  static handle from_cpp(dlbridge::python::binding::returned_value<R, Place>&& result, rv_policy,
                         cleanup_list* call) noexcept;
};
}  // namespace detail
}  // namespace nanobind DLBRIDGE_LOCAL

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_nanobind {
template <class P>
inline P library::take(caster<P>& found) {
  if (!found.template can_cast<P>()) {  // this call or another one has taken it
    throw nb::next_overload();
  }
  return found.operator cast_type<P>();
}

// Makes a call current while one of its arguments is loaded, if no other is. A function to which a
// plain m.def added an overload begins no active_call; nanobind's list of the objects that the call
// owns then holds one.
class loading_scope {
 public:
  loading_scope(call_objects* owner, PyObject* argument) noexcept
      : is_own_(active_call::current() == nullptr) {
    if (is_own_ && owner != nullptr) {
      active_call::current() = find_or_make(*owner, argument);
    }
  }
  loading_scope(loading_scope const&) = delete;
  loading_scope& operator=(loading_scope const&) = delete;
  ~loading_scope() {
    if (is_own_) {
      active_call::current() = nullptr;
    }
  }

 private:
  static constexpr char const* capsule_name = "dlbridge.active_call";

  static active_call* call_in(PyObject* capsule) noexcept {
    return static_cast<active_call*>(api<PyCapsule_GetPointer>(capsule, capsule_name));
  }
  DLBRIDGE_NOINLINE static active_call* find_or_make(call_objects& owner,
                                                     PyObject* argument) noexcept {
    for (std::size_t i = 1; i < owner.size(); ++i) {
      if (PyCapsule_IsValid(owner[i], capsule_name) != 0) {
        return call_in(owner[i]);
      }
    }
    std::unique_ptr<active_call> call(new (std::nothrow) active_call);
    ref capsule = call ? ref::steal(api<PyCapsule_New>(call.get(), capsule_name,
                                                       [](PyObject* own) { delete call_in(own); }))
                       : ref();
    if (!capsule) {
      discard(take_exception());
      return nullptr;
    }
    owner.append(capsule.release());
    Py_INCREF(argument);
    owner.append(argument);  // call policies apply to the last object of the list
    return call.release();
  }

  bool is_own_;
};
}  // namespace python::on_nanobind
DLBRIDGE_END_NAMESPACE

namespace nanobind DLBRIDGE_LOCAL {
namespace detail {
template <class P>
template <class Flags>
inline bool type_caster<dlbridge::python::detail::loaded_argument<P>>::from_python(
    handle source, Flags flags, cleanup_list* call) {
  dlbridge::python::on_nanobind::loading_scope const scope(call, source.ptr());
  namespace dp = dlbridge::python;
  return dp::binding::load<dp::on_nanobind::library>(value, source.ptr(),
                                                     dp::on_nanobind::may_convert(flags));
}

template <class R, dlbridge::python::place Place>
inline handle type_caster<dlbridge::python::binding::returned_value<R, Place>>::from_cpp(
    dlbridge::python::binding::returned_value<R, Place>&& result, rv_policy,
    cleanup_list* call) noexcept {
  namespace dp = dlbridge::python;
  dp::ref object;
  dp::guarded([&] {
    object = dp::give_container(std::move(result.value), result.first_argument.get(), result.as,
                                call != nullptr ? call->self() : nullptr);
  });
  return object.release();
}
}  // namespace detail
}  // namespace nanobind DLBRIDGE_LOCAL
