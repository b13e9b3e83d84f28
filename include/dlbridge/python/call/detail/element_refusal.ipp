// The bodies of element_refusal.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/error.hpp>
#include <dlbridge/python/call/detail/element_refusal.hpp>
#include <dlbridge/python/error.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
DLBRIDGE_API bool is_complete(ref const& exception) noexcept {
  return PyErr_GivenExceptionMatches(exception.get(), PyExc_TypeError) != 0 &&
         !ref::steal(PyException_GetTraceback(exception.get()));
}

DLBRIDGE_API ref stated_exception(ref const& exception) noexcept {
  return is_complete(exception) ? ref::steal(api<PyException_GetCause>(exception.get()))
                                : ref::borrow(exception.get());
}

DLBRIDGE_NOINLINE DLBRIDGE_API load_result element_refusal::take() noexcept {
  exception_ = take_exception();
  return load_result::refused;
}

DLBRIDGE_NOINLINE DLBRIDGE_API load_result
element_refusal::take(tensor_argument_base& tensor, requirement const& need,
                      tensor_argument_base::explanation explain) noexcept {
  if (tensor.exception()) {
    exception_ = std::move(tensor.exception());
    return load_result::refused;
  }
  api<PyErr_Format>(PyExc_TypeError, "%s", message(tensor.reason(need, explain)).c_str());
  return take();
}

DLBRIDGE_NOINLINE DLBRIDGE_API load_result element_refusal::at_index(Py_ssize_t i) noexcept {
  return place(ref::steal(api<PyUnicode_FromFormat>(", element %zd%V", i, where_.get(), "")));
}

DLBRIDGE_NOINLINE DLBRIDGE_API load_result element_refusal::at_key(PyObject* key) noexcept {
  ref const text = repr_of(key);
  return place(
      text ? ref::steal(api<PyUnicode_FromFormat>(", key %U%V", text.get(), where_.get(), ""))
           : ref());
}

DLBRIDGE_NOINLINE DLBRIDGE_API void element_refusal::add_alternative(
    element_refusal&& next) noexcept {
  if (!exception_ || next.is_fatal()) {
    *this = std::move(next);
    return;
  }
  if (!next.exception_) {
    return;
  }
  ref const own = line();
  ref const other = own ? next.line() : ref();
  if (other && api<PyUnicode_Compare>(own.get(), other.get()) == 0) {
    return;
  }
  if (other) {
    ref const cause = stated_exception(exception_);
    api<PyErr_Format>(PyExc_TypeError, "%U; or %U", own.get(), other.get());
    set_cause(cause ? cause.get() : stated_exception(next.exception_).get());
  }
  take();
  where_ = ref();
}

DLBRIDGE_NOINLINE DLBRIDGE_API ref element_refusal::line() const noexcept {
  char const* const where = where_ ? api<PyUnicode_AsUTF8AndSize>(where_.get(), nullptr) : ", ";
  bool const names_class = !is_complete(exception_);
  return where == nullptr
             ? ref()
             : ref::steal(api<PyUnicode_FromFormat>(
                   "%s%s%s%s%S", where + 2, where_ ? ": " : "",
                   names_class ? detail::type_name(Py_TYPE(exception_.get())).c_str() : "",
                   names_class ? ": " : "", exception_.get()));
}

DLBRIDGE_API load_result element_refusal::place(ref where) noexcept {
  if (!where) {
    return take();
  }
  where_ = std::move(where);
  return load_result::refused;
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
