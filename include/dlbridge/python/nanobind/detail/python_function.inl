// python_function: makes a Python function of nanobind state why all of its overloads refuse a
// call.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/python/call/detail/active_call.hpp>
#include <dlbridge/python/call/detail/explanation.hpp>
#include <dlbridge/python/call/detail/function_record.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/nanobind/errors.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>

// Python calls intercepted_call() in place of nanobind's function. It begins an active_call and
// calls nanobind's. Of nanobind, nothing is written but the vectorcall slot of a function that def
// made.
DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_nanobind {
// A function_record with its place among the overloads of a Python function.
struct DLBRIDGE_LOCAL python_function : function_record {
  explicit python_function(char const* display_name) : function_record(display_name) {}
  python_function(python_function const&) = delete;
  python_function& operator=(python_function const&) = delete;
  ~python_function() override { records().remove(*this); }

  PyObject* function = nullptr;  // the Python function; borrowed
  PyObject* scope = nullptr;     // its module or class; borrowed, and only compared
  std::string attribute{};       // its name there; empty for an accessor of a property
  Py_ssize_t index = 0;          // among the overloads

  static record_list& records() noexcept {
    static record_list all;
    return all;
  }
  static python_function const* find(PyObject* function, Py_ssize_t index) noexcept {
    return static_cast<python_function const*>(records().find([&](function_record const& each) {
      auto const& own = static_cast<python_function const&>(each);
      return own.function == function && own.index == index;
    }));
  }
};

// The signatures of a function of nanobind, a tuple with one tuple for each overload; empty for
// another object.
inline ref signatures_of(PyObject* function) noexcept {
  ref signatures = ref::steal(api<PyObject_GetAttrString>(function, "__nb_signature__"));
  if (!signatures || !PyTuple_Check(signatures.get())) {
    api<PyErr_Clear>();
    return ref();
  }
  return signatures;
}

// The signature of an overload, without "def ", with its default values. nanobind writes \0, \1 and
// so on for these, which follow the signature and the docstring in its tuple.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline ref signature_in(PyObject* parts) noexcept {
  char const* const raw = api<PyUnicode_AsUTF8AndSize>(detail::tuple_item(parts, 0), nullptr);
  if (raw == nullptr) {
    return ref();
  }
  ref text =
      ref::steal(api<PyUnicode_FromString>(std::strncmp(raw, "def ", 4) == 0 ? raw + 4 : raw));
  PyObject* const values = detail::tuple_size(parts) > 2 ? detail::tuple_item(parts, 2) : nullptr;
  Py_ssize_t k = values != nullptr && PyTuple_Check(values) ? detail::tuple_size(values) : 0;
  while (text && k-- > 0) {  // the highest number first: \1 begins \10
    ref const mark = ref::steal(api<PyUnicode_FromFormat>(" = \\%zd", k));
    ref const value = ref::steal(api<PyUnicode_FromFormat>(" = %R", detail::tuple_item(values, k)));
    text = mark && value
               ? ref::steal(api<PyUnicode_Replace>(text.get(), mark.get(), value.get(), 1))
               : ref();
  }
  return text;
}

// Whether an exception is nanobind's refusal of a call of a function, with its signatures: it may
// be that of another function of the name, which the body of a plain m.def called.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline bool is_refusal_of(
    PyObject* function, PyObject* exception, std::vector<binding::candidate> const& candidates) {
  ref const name = ref::steal(api<PyObject_GetAttrString>(function, "__name__"));
  char const* const called = name ? api<PyUnicode_AsUTF8AndSize>(name.get(), nullptr) : nullptr;
  ref const text = called != nullptr ? binding::text_of_refusal(called, exception) : ref();
  bool is_refusal = static_cast<bool>(text);
  for (binding::candidate const& each : candidates) {
    is_refusal = is_refusal && api<PySequence_Contains>(text.get(), each.signature.get()) == 1;
  }
  return suppress_exception() && is_refusal;
}

// Replaces the pending exception, if it is nanobind's refusal of a call, by the reasons.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline void explain_refusal(PyObject* function,
                                                            active_call& call) noexcept {
  ref refusal = take_exception();
  ref const signatures = signatures_of(function);
  try {
    std::vector<binding::candidate> candidates;
    Py_ssize_t const size = signatures ? detail::tuple_size(signatures.get()) : 0;
    auto const* const newest = python_function::find(function, size - 1);
    bool const is_new = newest != nullptr && newest->attribute == "__new__";
    for (Py_ssize_t i = 0; i < size; ++i) {
      auto const* const record = python_function::find(function, i);
      // nb::new_ adds a first __new__, for unpickling, which the messages of nanobind omit as well.
      if (!is_new || i > 0 || record != nullptr) {
        candidates.push_back({signature_in(detail::tuple_item(signatures.get(), i)), record});
      }
    }
    std::vector<PyObject*> arguments;
    if (is_new && call.arguments().count == 0) {  // nanobind passes no class then
      PyObject* const keywords = call.arguments().keywords;
      arguments.assign(
          call.arguments().values,
          call.arguments().values + (keywords != nullptr ? detail::tuple_size(keywords) : 0));
      arguments.insert(arguments.begin(), Py_None);
      call.set_arguments({arguments.data(), 1, keywords});
    }
    if (PyErr_Occurred() == nullptr && newest != nullptr &&
        is_refusal_of(function, refusal.get(), candidates)) {
      binding::raise_reasons(call, newest->name.c_str(), candidates);
    }
  } catch (std::bad_alloc const&) {
    api<PyErr_NoMemory>();
  }
  if (PyErr_Occurred() == nullptr) {
    set_exception(std::move(refusal));
  }
}

// nanobind has one C function for each shape of a call. Each is kept at an index, so that one of
// the functions below calls it.
template <std::size_t Index>
DLBRIDGE_LOCAL detail::vector_function*& library_call() noexcept {
  static detail::vector_function* function = nullptr;
  return function;
}
template <std::size_t Index>
PyObject* intercepted_call(PyObject* self, PyObject* const* args, std::size_t flags,
                           PyObject* keywords) noexcept {
  // The two highest bits are flags: of Python, and of nanobind for the self of a constructor.
  constexpr auto highest = detail::may_use_place_before;
  active_call own({args, flags & ~(highest | (highest >> 1)), keywords}, Py_SIZE(self) != 1);
  PyObject* const result = library_call<Index>()(self, args, flags, keywords);
  if (result == nullptr && !own.is_decided()) {
    explain_refusal(self, own);
  }
  return result;
}
template <std::size_t Index>
bool intercept(detail::vector_function*& call) noexcept {
  detail::vector_function*& original = library_call<Index>();
  if (original != nullptr && original != call) {
    return false;
  }
  original = call;
  call = &intercepted_call<Index>;
  return true;
}

/// Makes the calls of a function that nanobind made begin an active_call. A function that is not as
/// this header expects keeps nanobind's own refusals.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline void intercept_calls(PyObject* function) noexcept {
  ref const signatures = signatures_of(function);
  detail::vector_function** const place = detail::place_of_vectorcall(function);
  if (place == nullptr || !signatures ||
      Py_SIZE(function) != detail::tuple_size(signatures.get())) {
    return;
  }
  detail::vector_function*& call = *place;
  static_cast<void>(intercept<0>(call) || intercept<1>(call) || intercept<2>(call) ||
                    intercept<3>(call) || intercept<4>(call) || intercept<5>(call));
}

/// Finds the Python function that nanobind made of a record, and its place among the overloads. It
/// replaced the function that the earlier overloads belonged to.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline void register_overload(python_function& record) {
  ref const function =
      ref::steal(api<PyObject_GetAttrString>(record.scope, record.attribute.c_str()));
  ref const signatures = function ? signatures_of(function.get()) : ref();
  if (!signatures) {
    throw_pending();
  }
  record.index = detail::tuple_size(signatures.get()) - 1;
  python_function::records().find([&](function_record& each) {
    auto& own = static_cast<python_function&>(each);
    if (own.scope == record.scope && own.attribute == record.attribute) {
      own.function = function.get();  // which owns the record
    }
    return false;
  });
  intercept_calls(function.get());
}
}  // namespace python::on_nanobind
DLBRIDGE_END_NAMESPACE
