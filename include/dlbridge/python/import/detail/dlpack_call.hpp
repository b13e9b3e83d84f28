// call_dlpack: calls __dlpack__ of a producer with the keywords that are needed, and states what
// its exception means.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>

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

// The keywords that producers of legacy structs know: not those that DLPack 1.0 introduced.
inline call_keywords before_1_0(call_keywords const& keywords) noexcept {
  return {nullptr, keywords.stream, nullptr, nullptr};
}

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
    PyTuple_SET_ITEM(tuple.get(), i, used[i]);
  }
  PyObject* const used_names = is_usual ? only_max_version() : tuple.get();
  if (count != 0 && used_names == nullptr) {
    return ref();
  }
  int const self = method.takes_self ? 1 : 0;
  auto const positional = static_cast<std::size_t>(self) | PY_VECTORCALL_ARGUMENTS_OFFSET;
  return ref::steal(api<PyObject_Vectorcall>(method.function.get(), arguments + 2 - self,
                                             positional, used_names));
}

// What an exception raised by __dlpack__ means for a second call (spec 2.4).
enum class refusal_meaning {
  old_producer,  // TypeError: the producer may not accept one of the keywords
  unavailable,   // any other Exception: this producer cannot make the copy or the move
  final          // KeyboardInterrupt and the like: no second call
};

// What the pending exception means.
inline refusal_meaning meaning_of_refusal() noexcept {
  PyObject* const pending = PyErr_Occurred();
  // A class derived from TypeError is the producer's own, such as JAX's for a traced array.
  return pending == PyExc_TypeError ? refusal_meaning::old_producer
         : is_suppressible(pending) ? refusal_meaning::unavailable
                                    : refusal_meaning::final;
}

// Makes an exception the context of the pending one, unless that has one.
DLBRIDGE_COLD inline void set_context(ref first) noexcept {
  ref second = take_exception();
  ref const context = ref::steal(PyException_GetContext(second.get()));
  if (!context && second.get() != first.get()) {
    api<PyException_SetContext>(second.get(), first.release());
  }
  set_exception(std::move(second));
}

// Raises that a producer does not know copy=False, which a consumer never drops.
DLBRIDGE_COLD inline void refuse_dropped_copy(PyObject* producer) noexcept {
  report r = refusal(errc::copy_forbidden, "a producer that understands copy=False", "",
                     "Leave copy= out if a copy is acceptable");
  r.got.append(Py_TYPE(producer)->tp_name).append(", whose __dlpack__ raised TypeError for it");
  set_error(r);
}
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
