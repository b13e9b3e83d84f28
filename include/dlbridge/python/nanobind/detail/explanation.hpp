// explain_refusals: lets the calls of a function that def bound state why nanobind refused them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include <dlbridge/python/call/binding/overload_call.hpp>
#include <dlbridge/python/call/binding/refused_call.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/nanobind/detail/bound_record.hpp>
#include <dlbridge/python/nanobind/detail/refused_call.hpp>

// nanobind refuses a call for a wrong number of arguments, an unknown keyword, None, or an argument
// that its caster does not accept, and when all overloads refuse. It lists the signatures and the
// types of the arguments, and does not say which of them it refused. The functions below load each
// argument once more.
namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace on_nanobind {

// The imports of a call whose overloads have all refused, until the call is explained.
DLBRIDGE_LOCAL inline std::unique_ptr<overload_call>& refused_imports() noexcept {
  thread_local std::unique_ptr<overload_call> imports;
  return imports;
}

// Whether the innermost call of this thread ends in explain_refusal if it is refused. Functions to
// which plain nanobind added an overload do not.
DLBRIDGE_LOCAL inline bool& is_explained() noexcept {
  thread_local bool explained = false;
  return explained;
}

// Whether an exception is nanobind's refusal of a call of a function. An accessor of a property has
// another name in nanobind's messages than in its record.
DLBRIDGE_COLD inline bool is_refusal_of(PyObject* function, PyObject* exception) noexcept {
  ref const name = ref::steal(api<PyObject_GetAttrString>(function, "__name__"));
  char const* const called = name ? api<PyUnicode_AsUTF8>(name.get()) : nullptr;
  return suppress_exception() && called != nullptr && binding::is_refusal_of(called, exception);
}

// The explanation of a refused call of a Python function with one or more candidates.
class explanation {
 public:
  explanation(PyObject* function, PyObject* const* args, std::size_t count, PyObject* keywords)
      : imports_(refused_imports() ? std::move(refused_imports())
                                   : std::make_unique<overload_call>()),
        call_(args, count, keywords, *imports_),
        signatures_(ref::steal(api<PyObject_GetAttrString>(function, "__nb_signature__"))) {}

  // Replaces nanobind's refusal by the reasons. An exception that writing them raised is pending
  // instead. Leaves none pending if there is no reason.
  DLBRIDGE_COLD void raise_reasons(bound_record const& newest) {
    Py_ssize_t const size = signatures_ ? PyTuple_GET_SIZE(signatures_.get()) : 0;
    Py_ssize_t const first = size > 1 && begins_with_own_new(newest) ? 1 : 0;
    if (size - first == 1) {
      raise_reasons_of(newest, signature(first));
      return;
    }
    ref const lines = ref::steal(api<PyList_New>(0));
    for (Py_ssize_t i = first; lines && i < size; ++i) {
      ref const reason = reason_of(newest.candidate(i), i);
      if (!overload_call::add_line(lines.get(), reason ? with_defaults(i) : ref(), reason)) {
        return;
      }
    }
    if (lines && size > 0) {
      imports_->set_error(newest.name.c_str(), lines.get());
    }
  }

 private:
  // The same for a function without other overloads.
  DLBRIDGE_COLD void raise_reasons_of(bound_record const& record, char const* signature) {
    refusals reasons;
    call_.add_reasons(record, signature, reasons);
    if (PyErr_Occurred() != nullptr) {
      return;
    }
    ref const kept = imports_->reason_of(record);  // such as extents of one name that differ
    if (reasons) {
      reasons.set_error(record.name.c_str());
    } else if (kept) {
      api<PyErr_Format>(PyExc_TypeError, "%s(): %U", record.name.c_str(), kept.get());
    }
  }
  // Whether the first overload is the __new__ without arguments that nb::new_ adds for unpickling,
  // which nanobind's messages omit as well.
  static bool begins_with_own_new(bound_record const& newest) noexcept {
    return newest.attribute == "__new__" && newest.candidate(0) == nullptr;
  }
  // The signature of a candidate, without "def "; borrowed.
  char const* signature(Py_ssize_t i) const noexcept {
    PyObject* const text = PyTuple_GET_ITEM(PyTuple_GET_ITEM(signatures_.get(), i), 0);
    char const* const utf8 = api<PyUnicode_AsUTF8>(text);
    return utf8 == nullptr                      ? (api<PyErr_Clear>(), "")
           : std::strncmp(utf8, "def ", 4) == 0 ? utf8 + 4
                                                : utf8;
  }
  // Why a candidate refuses the call; empty, with an exception set, on failure.
  ref reason_of(bound_record const* record, Py_ssize_t i) {
    refusals reasons;
    if (record != nullptr) {
      call_.add_reasons(*record, signature(i), reasons);
    }
    if (PyErr_Occurred() != nullptr) {
      return ref();
    }
    if (reasons.fatal_exception()) {
      reasons.set_error("");
      return ref();
    }
    imports_->keep_cause(reasons);
    // The disagreement of extents with one name is no reason of a single argument.
    ref text = reasons ? reasons.text() : record != nullptr ? imports_->reason_of(*record) : ref();
    if (!text && PyErr_Occurred() == nullptr) {
      text = ref::steal(api<PyUnicode_FromString>(overload_call::no_reason()));
    }
    return text;
  }
  // The signature of a candidate with its default values, for which nanobind writes \0, \1 and so
  // on. They follow the signature and the docstring in its tuple.
  ref with_defaults(Py_ssize_t i) const noexcept {
    PyObject* const parts = PyTuple_GET_ITEM(signatures_.get(), i);
    PyObject* const values = PyTuple_GET_SIZE(parts) > 2 ? PyTuple_GET_ITEM(parts, 2) : nullptr;
    Py_ssize_t k = values != nullptr && PyTuple_Check(values) ? PyTuple_GET_SIZE(values) : 0;
    ref text = ref::steal(api<PyUnicode_FromString>(signature(i)));
    while (text && k-- > 0) {  // \10 before \1
      ref const mark = ref::steal(api<PyUnicode_FromFormat>(" = \\%zd", k));
      ref const value = ref::steal(api<PyUnicode_FromFormat>(" = %R", PyTuple_GET_ITEM(values, k)));
      text = mark && value
                 ? ref::steal(api<PyUnicode_Replace>(text.get(), mark.get(), value.get(), 1))
                 : ref();
    }
    return text;
  }

  std::unique_ptr<overload_call> imports_;
  library_refusal call_;
  ref signatures_;
};

// Replaces the pending exception, if it is nanobind's refusal of a call, by the reasons.
DLBRIDGE_COLD inline void explain_refusal(PyObject* function, PyObject* const* args,
                                          std::size_t count, PyObject* keywords) noexcept {
  bound_record const* const record = bound_record::find(function);
  ref refusal = take_exception();
  if (record != nullptr && is_refusal_of(function, refusal.get())) {
    PyObject* const no_class[] = {Py_None};
    if (count == 0 && record->attribute == "__new__") {  // nanobind passes no class then
      args = no_class;
      count = 1;
    }
    try {
      explanation(function, args, count, keywords).raise_reasons(*record);
    } catch (std::bad_alloc const&) {
      api<PyErr_NoMemory>();
    }
  }
  if (PyErr_Occurred() == nullptr) {
    set_exception(std::move(refusal));
  }
}

// nanobind has one function for each shape of a call, which its Python functions refer to. Calls of
// the functions of def pass through one of these instead, which calls nanobind's.
template <std::size_t Index>
DLBRIDGE_LOCAL vectorcallfunc& library_call() noexcept {
  static vectorcallfunc function = nullptr;
  return function;
}
template <std::size_t Index>
PyObject* call_and_explain(PyObject* self, PyObject* const* args, std::size_t flags,
                           PyObject* keywords) noexcept {
  bool const outer = std::exchange(is_explained(), true);
  PyObject* const result = library_call<Index>()(self, args, flags, keywords);
  is_explained() = outer;
  if (result == nullptr) {
    // The two highest bits are flags: of Python, and of nanobind for the self of a constructor.
    constexpr auto highest = static_cast<std::size_t>(PY_VECTORCALL_ARGUMENTS_OFFSET);
    explain_refusal(self, args, flags & ~(highest | (highest >> 1)), keywords);
  }
  refused_imports().reset();  // of a call that an overload without tensors accepted
  return result;
}
template <std::size_t Index>
bool intercept(vectorcallfunc& call) noexcept {
  vectorcallfunc& original = library_call<Index>();
  if (original != nullptr && original != call) {
    return false;
  }
  original = call;
  call = &call_and_explain<Index>;
  return true;
}

DLBRIDGE_COLD inline void explain_refusals(PyObject* function) noexcept {
  Py_ssize_t const offset = Py_TYPE(function)->tp_vectorcall_offset;
  if (offset <= 0) {
    return;
  }
  auto& call = *reinterpret_cast<vectorcallfunc*>(reinterpret_cast<char*>(function) + offset);
  static_cast<void>(intercept<0>(call) || intercept<1>(call) || intercept<2>(call) ||
                    intercept<3>(call) || intercept<4>(call) || intercept<5>(call));
}

}  // namespace on_nanobind
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
