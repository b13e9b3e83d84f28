// call_dlpack: calls __dlpack__ of a producer with the keywords that are needed.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/version.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {
// The keyword arguments of one call of __dlpack__; null ones are not passed.
struct call_keywords {
  PyObject* max_version = nullptr;
  PyObject* stream = nullptr;
  PyObject* dl_device = nullptr;
  PyObject* copy = nullptr;
};

// The value of max_version= in every call.
DLBRIDGE_LOCAL inline PyObject* stated_version_object() noexcept {
  static lazy_object version;
  return version.get([]() noexcept {
    return ref::steal(api<Py_BuildValue>("(II)", unsigned{stated_major}, unsigned{stated_minor}));
  });
}

// The keyword names of a call that passes max_version alone.
DLBRIDGE_LOCAL inline PyObject* only_max_version() noexcept {
  static lazy_object tuple;
  return tuple.get(
      []() noexcept { return ref::steal(api<PyTuple_Pack>(1, names::get().max_version)); });
}

// Calls __dlpack__(max_version=...) by its name, without a bound method. Returns an empty
// reference, with an exception set, when the call failed.
inline ref call_dlpack_by_name(PyObject* producer) noexcept {
  PyObject* const version = stated_version_object();
  PyObject* const keyword = version != nullptr ? only_max_version() : nullptr;
  if (keyword == nullptr) {
    return ref();
  }
  PyObject* arguments[] = {nullptr, producer, version};
  return ref::steal(api<PyObject_VectorcallMethod>(names::get().dlpack, arguments + 1,
                                                   1 | PY_VECTORCALL_ARGUMENTS_OFFSET, keyword));
}

// The method __dlpack__ of a producer: a function of the type, which takes the producer as its
// first argument, or an attribute of the producer, which does not.
struct producer_method {
  ref function;  // held, as Python code that runs may delete it
  bool takes_self = false;
};

// Calls the method with the keywords that are not null. Returns an empty reference, with an
// exception set, when it raised.
inline ref call_dlpack(PyObject* producer, producer_method const& method,
                       call_keywords const& keywords) noexcept {
  PyObject* const function = method.function.get();
  if (method.takes_self && keywords.stream == nullptr && keywords.dl_device == nullptr &&
      keywords.copy == nullptr && keywords.max_version != nullptr) {  // the common case
    PyObject* arguments[] = {nullptr, producer, keywords.max_version};
    PyObject* const name = only_max_version();
    return name != nullptr ? ref::steal(api<PyObject_Vectorcall>(
                                 function, arguments + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, name))
                           : ref();
  }
  names const& n = names::get();
  PyObject* const values[] = {keywords.max_version, keywords.stream, keywords.dl_device,
                              keywords.copy};
  PyObject* const keys[] = {n.max_version, n.stream, n.dl_device, n.copy};
  PyObject* arguments[6] = {nullptr, producer};
  PyObject* used[4];
  Py_ssize_t count = 0;
  for (int i = 0; i < 4; ++i) {
    if (values[i] != nullptr) {
      arguments[2 + count] = values[i];
      used[count++] = keys[i];
    }
  }
  ref tuple;
  PyObject* used_names = nullptr;
  if (count == 1 && keywords.max_version != nullptr) {
    used_names = only_max_version();
    if (used_names == nullptr) {
      return ref();
    }
  } else if (count > 0) {
    tuple = ref::steal(api<PyTuple_New>(count));
    if (!tuple) {
      return ref();
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
      Py_INCREF(used[i]);
      PyTuple_SET_ITEM(tuple.get(), i, used[i]);
    }
    used_names = tuple.get();
  }
  int const self = method.takes_self ? 1 : 0;
  auto const positional = static_cast<std::size_t>(self) | PY_VECTORCALL_ARGUMENTS_OFFSET;
  return ref::steal(
      api<PyObject_Vectorcall>(function, arguments + 2 - self, positional, used_names));
}
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
