// The inline bodies of library_parameter.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/call/container_argument.hpp>
#include <dlbridge/python/call/detail/library_parameter.hpp>
#include <dlbridge/python/pending_exception.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::binding {
template <class P>
ref& exception_of(tensor_argument<P>& argument) noexcept {
  return argument.exception();
}

template <class P>
ref& exception_of(container_argument<P>& argument) noexcept {
  return argument.refusal().exception();
}

template <class P>
load_result load_argument(loader_of<P>& argument, PyObject* object, bool convert) {
  if constexpr (!is_tensor_parameter<P>) {
    convert = convert && (PyIter_Check(object) == 0 || has_no_overload());
  }
  return argument.load(object, {convert, true});
}

// The load of the caster of a parameter. Throws an exception of the object that is no refusal, such
// as KeyboardInterrupt. Returns whether the binding library may call the function: also with an
// argument that does not fit, if there is no overload. The function then states the reasons of all
// arguments.
template <class Library, class P>
DLBRIDGE_COLD DLBRIDGE_NOINLINE bool is_reported_by_function(loaded_argument<P>& value) {
  if (value.argument.is_fatal()) {
    set_exception(std::move(exception_of(value.argument)));
    Library::throw_pending();
  }
  return has_no_overload();
}

template <class Library, class P>
bool load(loaded_argument<P>& value, PyObject* object, bool convert) {
  value.result = load_argument<P>(value.argument, object, convert);
  return value.result != load_result::refused || is_reported_by_function<Library>(value);
}
}  // namespace python::binding
DLBRIDGE_END_NAMESPACE
