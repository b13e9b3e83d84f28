// explain_refusals: replaces pybind11's refusals of calls, which name no argument, by the reasons.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/binding/overload_call.hpp>
#include <dlbridge/python/call/binding/refused_call.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/pybind11/detail/bound_record.hpp>
#include <dlbridge/python/pybind11/detail/refused_call.hpp>
#include <dlbridge/python/pybind11/errors.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace on_pybind11 {
// An extra that stores pybind11's record of a function.
struct DLBRIDGE_LOCAL record_link {
  bound_record* record;
};

// Replaces the pending exception, if it is pybind11's refusal of a call, by the reasons.
// self: the self of the Python function, which is pybind11's
DLBRIDGE_COLD inline void explain_refusal(PyObject* self, PyObject* const* args, std::size_t count,
                                          PyObject* keywords) noexcept {
  if (std::exchange(has_stated_reasons(), false)) {
    return;
  }
  bound_record const* record = bound_record::newest().load(std::memory_order_acquire);
  while (record != nullptr && record->self != self) {
    record = record->older;
  }
  if (record == nullptr || overload_call::is_trying(*record)) {
    return;  // an overload set asks for the reasons if no other candidate accepts the call
  }
  ref refusal = take_exception();
  refusals reasons;
  // With an overload that a plain m.def added, pybind11 lists both signatures.
  if (!record->has_plain_overload() &&
      binding::is_refusal_of(record->pybind11_record->name, refusal.get())) {
    add_call_reasons(*record, nullptr, reasons, args, count, keywords);
  }
  if (PyErr_Occurred() != nullptr) {
    return;  // an exception such as KeyboardInterrupt ends the call
  }
  if (reasons) {
    reasons.set_error(record->name.c_str());
  } else {
    set_exception(std::move(refusal));
  }
}

// pybind11's C function, which all its Python functions call.
template <class Function>
DLBRIDGE_LOCAL Function& library_call() noexcept {
  static Function function = nullptr;
  return function;
}

// Calls pybind11's C function. While it binds keywords, that throws into the interpreter, which has
// no handler: for example UnicodeEncodeError for a keyword with a lone surrogate.
template <class Function, class... Arguments>
PyObject* call_dispatcher(Arguments... arguments) {
  try {
    return library_call<Function>()(arguments...);
  } catch (py::error_already_set& e) {
    e.restore();
  } catch (std::exception const&) {
    py::detail::try_translate_exceptions();
  }
  return nullptr;
}

// The C function that calls pybind11's, with the convention of the version of pybind11.
#if PYBIND11_VERSION_HEX >= 0x03010000
using vector_function = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
inline PyObject* call_by_vector(PyObject* self, PyObject* const* args, Py_ssize_t count,
                                PyObject* keywords) {
  PyObject* const result = call_dispatcher<vector_function>(self, args, count, keywords);
  if (result == nullptr) {
    explain_refusal(self, args, static_cast<std::size_t>(count), keywords);
  }
  return result;
}

#else
using tuple_function = PyObject* (*)(PyObject*, PyObject*, PyObject*);
DLBRIDGE_COLD inline void explain_tuple(PyObject* self, PyObject* args, PyObject* keywords) {
  std::vector<PyObject*> values;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    values.push_back(PyTuple_GET_ITEM(args, i));
  }
  std::size_t const count = values.size();
  ref const names = ref::steal(api<PyList_New>(0));
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  Py_ssize_t at = 0;
  while (names && keywords != nullptr && api<PyDict_Next>(keywords, &at, &key, &value) != 0) {
    values.push_back(value);
    if (api<PyList_Append>(names.get(), key) != 0) {
      return;
    }
  }
  ref const keys = names ? ref::steal(api<PyList_AsTuple>(names.get())) : ref();
  if (keys) {
    explain_refusal(self, values.data(), count, keys.get());
  }
}
inline PyObject* call_by_tuple(PyObject* self, PyObject* args, PyObject* keywords) {
  PyObject* const result = call_dispatcher<tuple_function>(self, args, keywords);
  if (result == nullptr) {
    explain_tuple(self, args, keywords);
  }
  return result;
}

#endif

template <class Function>
void intercept(PyMethodDef& method, Function own) noexcept {
  library_call<Function>() =
      reinterpret_cast<Function>(reinterpret_cast<void (*)()>(method.ml_meth));
  method.ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(own));
}
DLBRIDGE_COLD inline void explain_refusals(bound_record& record, PyObject* function) noexcept {
  PyObject* const plain =
      PyInstanceMethod_Check(function) != 0 ? PyInstanceMethod_Function(function) : function;
  PyMethodDef& method = *record.pybind11_record->def;
#if PYBIND11_VERSION_HEX >= 0x03010000
  if (method.ml_flags == (METH_FASTCALL | METH_KEYWORDS)) {
    intercept<vector_function>(method, &call_by_vector);
  }
#else
  if (method.ml_flags == (METH_VARARGS | METH_KEYWORDS)) {
    intercept<tuple_function>(method, &call_by_tuple);
  }
#endif
  record.add_reasons = &add_call_reasons;
  record.self = PyCFunction_GetSelf(plain);
  record.older = bound_record::newest().load(std::memory_order_relaxed);
  while (!bound_record::newest().compare_exchange_weak(record.older, &record,
                                                       std::memory_order_release)) {
  }
}

}  // namespace on_pybind11
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

namespace pybind11 DLBRIDGE_LOCAL {
namespace detail {
template <>
struct process_attribute<dlbridge::python::on_pybind11::record_link>
    : process_attribute_default<dlbridge::python::on_pybind11::record_link> {
  static void init(dlbridge::python::on_pybind11::record_link const& link,
                   function_record* record) {
    link.record->pybind11_record = record;
  }
};
}  // namespace detail
}  // namespace pybind11 DLBRIDGE_LOCAL
