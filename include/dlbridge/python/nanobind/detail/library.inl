// The inline bodies of library.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include <dlbridge/python/api.hpp>
#include <dlbridge/python/call/container_result.hpp>
#include <dlbridge/python/call/detail/active_call.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/nanobind/detail/library.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_nanobind {
template <class P>
P library::take(caster<P>& found) {
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
bool type_caster<dlbridge::python::detail::loaded_argument<P>>::from_python(handle source,
                                                                            Flags flags,
                                                                            cleanup_list* call) {
  dlbridge::python::on_nanobind::loading_scope const scope(call, source.ptr());
  namespace dp = dlbridge::python;
  return dp::binding::load<dp::on_nanobind::library>(value, source.ptr(),
                                                     dp::on_nanobind::may_convert(flags));
}

template <class R>
handle type_caster<dlbridge::python::binding::returned_value<R>>::from_cpp(
    dlbridge::python::binding::returned_value<R>&& result, rv_policy, cleanup_list* call) noexcept {
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
