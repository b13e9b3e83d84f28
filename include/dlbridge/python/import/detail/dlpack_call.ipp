// The bodies of dlpack_call.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <utility>

#include <dlbridge/error.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/dlpack_call.hpp>
#include <dlbridge/python/pending_exception.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
DLBRIDGE_API call_keywords before_1_0(call_keywords const& keywords) noexcept {
  return {nullptr, keywords.stream, nullptr, nullptr};
}

DLBRIDGE_API PyObject* stated_version_object() noexcept {
  static lazy_object version;
  return version.get([]() noexcept {
    return ref::steal(api<Py_BuildValue>("(II)", unsigned{stated_major}, unsigned{stated_minor}));
  });
}

// The keyword names of a call that passes max_version alone.
DLBRIDGE_LOCAL DLBRIDGE_API PyObject* only_max_version() noexcept {
  static lazy_object tuple;
  return tuple.get(
      []() noexcept { return ref::steal(api<PyTuple_Pack>(1, names::get().max_version)); });
}

DLBRIDGE_API ref call_dlpack(PyObject* producer, producer_method const& method,
                             call_keywords const& keywords) noexcept {
  names const& n = names::get();
  PyObject* const all[][2] = {{n.max_version, keywords.max_version},
                              {n.stream, keywords.stream},
                              {n.dl_device, keywords.dl_device},
                              {n.copy, keywords.copy}};
  PyObject* arguments[6] = {nullptr, producer};
  PyObject* used[4];
  Py_ssize_t count = 0;
  for (auto const& [name, value] : all) {
    if (value != nullptr) {
      used[count] = name;
      arguments[2 + count++] = value;
    }
  }
  bool const is_usual = count == 1 && keywords.max_version != nullptr;
  ref const tuple = count == 0 || is_usual ? ref() : ref::steal(api<PyTuple_New>(count));
  for (Py_ssize_t i = 0; tuple && i < count; ++i) {
    Py_INCREF(used[i]);
    detail::set_tuple_item(tuple.get(), i, used[i]);
  }
  PyObject* const used_names = is_usual ? only_max_version() : tuple.get();
  if (count != 0 && used_names == nullptr) {
    return ref();
  }
  int const self = method.takes_self ? 1 : 0;
  return ref::steal(api<call_vector>(method.function.get(), arguments + 2 - self,
                                     static_cast<std::size_t>(self), used_names));
}

DLBRIDGE_API refusal_meaning meaning_of_refusal() noexcept {
  PyObject* const pending = PyErr_Occurred();
  // A class derived from TypeError is the producer's own, such as JAX's for a traced array.
  return pending == PyExc_TypeError ? refusal_meaning::old_producer
         : is_suppressible(pending) ? refusal_meaning::unavailable
                                    : refusal_meaning::final;
}

DLBRIDGE_NOINLINE DLBRIDGE_API void set_context(ref first) noexcept {
  ref second = take_exception();
  ref const context = ref::steal(PyException_GetContext(second.get()));
  if (!context && second.get() != first.get()) {
    api<PyException_SetContext>(second.get(), first.release());
  }
  set_exception(std::move(second));
}

DLBRIDGE_NOINLINE DLBRIDGE_API void refuse_dropped_copy(PyObject* producer) noexcept {
  report r = refusal(errc::copy_forbidden, "a producer that understands copy=False", "",
                     "Leave copy= out if a copy is acceptable");
  r.got.append(detail::type_name(Py_TYPE(producer)).c_str())
      .append(", whose __dlpack__ raised TypeError for it");
  set_error(r);
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
