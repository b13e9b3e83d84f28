// The bodies of refusals.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstring>
#include <utility>

#include <dlbridge/python/call/detail/refusals.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
DLBRIDGE_NOINLINE DLBRIDGE_API void refusals::add_if_refused(element_refusal& why, char const* name,
                                                             int position) noexcept {
  if (why.exception()) {
    add(name, position, std::move(why.exception()), why.where().get());
  }
}

DLBRIDGE_NOINLINE DLBRIDGE_API void refusals::add(report const& why, char const* name,
                                                  int position) noexcept {
  if (!*this && name != nullptr && is_short(name)) {
    append_message(only_.append("argument '").append(name).append("': "), why);
  } else {
    add_line(name, position, message(why).c_str());
  }
}

DLBRIDGE_NOINLINE DLBRIDGE_API void refusals::add(char const* name, int position, ref exception,
                                                  PyObject* where) noexcept {
  if (!is_refusal(exception) && !fatal_) {
    fatal_ = ref::borrow(exception.get());
  }
  ref message = ref::steal(api<PyObject_Str>(exception.get()));
  if (!message && !suppress_exception()) {
    take_failure();
  }
  bool const names_class = !message || !is_complete(exception);
  add_line(name, position, names_class ? detail::type_name(Py_TYPE(exception.get())).c_str() : "",
           message.get(), names_class && message ? ": " : "", where);
  if (!cause_) {
    cause_ = stated_exception(exception);
  }
}

DLBRIDGE_API void refusals::add_about_call(PyObject* text) noexcept {
  first_ = ref::borrow(text);
  is_about_call_ = true;
}

DLBRIDGE_NOINLINE DLBRIDGE_API ref refusals::text() const noexcept {
  if (!others_) {
    return first_ ? ref::borrow(first_.get()) : decoded(only_);
  }
  ref const separator = ref::steal(api<PyUnicode_FromString>("\n  "));
  return separator ? ref::steal(api<PyUnicode_Join>(separator.get(), others_.get())) : ref();
}

DLBRIDGE_NOINLINE DLBRIDGE_API void refusals::set_error(char const* function) noexcept {
  if (fatal_) {
    set_exception(std::move(fatal_));
    return;
  }
  if (!only_.empty() && function != nullptr && is_short(function)) {
    line_text all(function);
    all.append("(): ").append(only_.c_str(), only_.size());
    if (ref const whole = decoded(all)) {
      api<PyErr_SetObject>(PyExc_TypeError, whole.get());
    }
    return;
  }
  ref const reasons = text();
  if (reasons && function == nullptr) {
    api<PyErr_SetObject>(PyExc_TypeError, reasons.get());
  } else if (reasons) {
    api<PyErr_Format>(PyExc_TypeError, "%s()%s%s%U", function, is_about_call_ ? "" : ":",
                      others_ ? "\n  " : " ", reasons.get());
  }
  set_cause(cause_.get());
}

DLBRIDGE_NOINLINE DLBRIDGE_API void refusals::add_if_refused(
    tensor_argument_base& argument, requirement const& need,
    tensor_argument_base::explanation explain, char const* name, int position) noexcept {
  if (argument.exception()) {
    add(name, position, std::move(argument.exception()));
    return;
  }
  report const why = argument.reason(need, explain);
  if (!why.ok()) {
    add(why, name, position);
  }
}

DLBRIDGE_API bool refusals::is_short(char const* name) noexcept {
  constexpr std::size_t limit = 100;
  return std::strlen(name) <= limit;
}

DLBRIDGE_API ref refusals::decoded(line_text const& text) noexcept {
  return ref::steal(
      api<PyUnicode_DecodeUTF8>(text.c_str(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

DLBRIDGE_NOINLINE DLBRIDGE_API void refusals::add_line(char const* name, int position,
                                                       char const* text, PyObject* more,
                                                       char const* between,
                                                       PyObject* where) noexcept {
  if (!only_.empty()) {
    first_ = decoded(only_);
    only_ = line_text();
    if (!first_) {
      take_failure();
    }
  }
  ref line =
      ref::steal(name != nullptr ? api<PyUnicode_FromFormat>("argument '%s'%V: %s%s%V", name, where,
                                                             "", text, between, more, "")
                 : position != 0 ? api<PyUnicode_FromFormat>("argument %d%V: %s%s%V", position,
                                                             where, "", text, between, more, "")
                                 : api<PyUnicode_FromFormat>("%s%s%V", text, between, more, ""));
  if (line && !first_) {
    first_ = std::move(line);
    return;
  }
  if (line && !others_) {
    others_ = ref::steal(api<PyList_New>(0));
    if (others_ && api<PyList_Append>(others_.get(), first_.get()) != 0) {
      others_ = ref();
    }
  }
  if (!line || !others_ || api<PyList_Append>(others_.get(), line.get()) != 0) {
    take_failure();
  }
}

DLBRIDGE_NOINLINE DLBRIDGE_API void refusals::take_failure() noexcept {
  ref failure = take_exception();
  if (!fatal_) {
    fatal_ = std::move(failure);
  }
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
