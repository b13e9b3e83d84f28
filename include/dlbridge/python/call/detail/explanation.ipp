// The bodies of explanation.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstring>

#include <dlbridge/python/api.hpp>
#include <dlbridge/python/call/detail/explanation.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/pending_exception.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::binding {
DLBRIDGE_NOINLINE DLBRIDGE_API ref text_of_refusal(char const* function,
                                                   PyObject* exception) noexcept {
  if (exception == nullptr || reinterpret_cast<PyObject*>(Py_TYPE(exception)) != PyExc_TypeError) {
    return ref();
  }
  ref text = ref::steal(api<PyObject_Str>(exception));
  char const* const message = text ? api<PyUnicode_AsUTF8AndSize>(text.get(), nullptr) : nullptr;
  std::size_t const length = std::strlen(function);
  char const* const start = "(): incompatible ";
  bool const is_refusal = message != nullptr && std::strncmp(message, function, length) == 0 &&
                          std::strncmp(message + length, start, std::strlen(start)) == 0;
  return suppress_exception() && is_refusal ? std::move(text) : ref();
}

/// The reason of each candidate as a list of str. Empty, with the exception set that ends the call,
/// on failure; empty without one if no reason is known.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline ref reasons_of(active_call& call,
                                                      std::vector<candidate> const& candidates,
                                                      ref& cause) {
  ref reasons = ref::steal(api<PyList_New>(0));
  bool is_known = false;
  for (candidate const& each : candidates) {
    refusals why;
    if (each.record != nullptr) {
      each.record->explain(*each.record, call, why);
    }
    if (PyErr_Occurred() == nullptr && why.fatal_exception()) {
      why.set_error(nullptr);
    }
    if (!reasons || PyErr_Occurred() != nullptr) {
      return ref();
    }
    is_known = is_known || why;
    if (!cause) {
      cause = ref::borrow(why.cause());
    }
    ref const text = why ? why.text()
                         : ref::steal(api<PyUnicode_FromString>(
                               "the arguments are not those of this signature"));
    if (!text || api<PyList_Append>(reasons.get(), text.get()) != 0) {
      return ref();
    }
  }
  return is_known ? std::move(reasons) : ref();
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool raise_reasons(active_call& call, char const* name,
                                                  std::vector<candidate> const& candidates) {
  if (candidates.size() == 1 && candidates[0].record != nullptr) {
    refusals why;
    candidates[0].record->explain(*candidates[0].record, call, why);
    if (PyErr_Occurred() == nullptr && why) {
      why.set_error(name);
    }
    return PyErr_Occurred() != nullptr;
  }
  ref cause;
  ref const reasons = reasons_of(call, candidates, cause);
  if (!reasons) {
    return PyErr_Occurred() != nullptr;
  }
  ref text =
      ref::steal(api<PyUnicode_FromFormat>("%s(): no overload takes these arguments:", name));
  for (std::size_t i = 0; text && i < candidates.size(); ++i) {
    auto const reason = [&](std::size_t of) {
      return detail::list_item(reasons.get(), static_cast<Py_ssize_t>(of));
    };
    bool const is_last =
        i + 1 == candidates.size() || api<PyUnicode_Compare>(reason(i), reason(i + 1)) != 0;
    text = ref::steal(api<PyUnicode_FromFormat>(
        "%U\n%zu. %U%s%V", text.get(), i + 1, candidates[i].signature.get(), is_last ? "\n  " : "",
        is_last ? reason(i) : nullptr, ""));
  }
  if (text) {
    api<PyErr_SetObject>(PyExc_TypeError, text.get());
  }
  set_cause(cause.get());
  return true;
}
}  // namespace python::binding
DLBRIDGE_END_NAMESPACE
