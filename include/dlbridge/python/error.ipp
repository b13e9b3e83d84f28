// The bodies of error.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <new>
#include <stdexcept>

#include <dlbridge/exit_guard.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/object_owner.hpp>
#include <dlbridge/python/pending_exception.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
DLBRIDGE_NOINLINE DLBRIDGE_API ref repr_of(PyObject* object) noexcept {
  ref text = ref::steal(api<PyObject_Repr>(object));
  if (!text && PyErr_ExceptionMatches(PyExc_RecursionError) != 0) {  // of a deep list
    api<PyErr_Clear>();
  }
  if (!text && suppress_exception()) {
    text = ref::steal(api<PyUnicode_FromFormat>("a value of type %s",
                                                detail::type_name(Py_TYPE(object)).c_str()));
  }
  return text;
}

DLBRIDGE_API char const* import_refusal() noexcept {
  return api<PyInterpreterState_GetID>(api<PyInterpreterState_Get>()) != 0  // that of the main one
             ? "this module uses dlbridge, which does not support subinterpreters: "
               "import it in the main interpreter"
             : nullptr;
}

DLBRIDGE_API PyObject* copy_forbidden_error() noexcept {
  static lazy_object type;
  return type.get([]() noexcept {
    ref const bases = ref::steal(api<PyTuple_Pack>(2, PyExc_BufferError, PyExc_ValueError));
    return bases ? ref::steal(api<PyErr_NewExceptionWithDoc>(
                       "dlbridge.CopyForbiddenError",
                       "Raised if the result needs a copy that the caller forbade (copy=False), "
                       "or that\nthe method never makes (reshape, view).",
                       bases.get(), nullptr))
                 : ref();
  });
}

DLBRIDGE_API PyObject* exception_for(errc code) noexcept {
  switch (row(code).kind) {
    case error_kind::type:
      return PyExc_TypeError;
    case error_kind::value:
      return PyExc_ValueError;
    case error_kind::copy_forbidden: {
      PyObject* const type = copy_forbidden_error();
      return type != nullptr ? type : PyExc_BufferError;
    }
    case error_kind::runtime:
      return PyExc_RuntimeError;
    case error_kind::memory:
      return PyExc_MemoryError;
    case error_kind::buffer:
    case error_kind::mismatch:
      break;
  }
  return PyExc_BufferError;
}

DLBRIDGE_NOINLINE DLBRIDGE_API void set_error(report const& why, char const* where) noexcept {
  ref cause = take_exception();
  if (cause && !is_suppressible(cause.get())) {
    set_exception(std::move(cause));
    return;
  }
  message_text text;
  if (where != nullptr) {
    text.append(where).append("(): ");
  }
  text.append(message(why).c_str());
  // The name of a type of another module may be in any encoding, and truncation may split a
  // character.
  ref const string = ref::steal(
      api<PyUnicode_DecodeUTF8>(text.c_str(), static_cast<Py_ssize_t>(text.size()), "replace"));
  if (string) {
    api<PyErr_SetObject>(exception_for(why.code()), string.get());
  }
  if (cause) {
    ref raised = take_exception();
    Py_INCREF(cause.get());
    api<PyException_SetContext>(raised.get(), cause.get());
    api<PyException_SetCause>(raised.get(), cause.release());
    set_exception(std::move(raised));
  }
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool succeeded(report const& why, char const* where) noexcept {
  if (!why.ok()) {
    set_error(why, where);
  }
  return why.ok();
}

DLBRIDGE_NOINLINE DLBRIDGE_API python_error::python_error() : taken_(std::make_shared<taken>()) {}

DLBRIDGE_NOINLINE DLBRIDGE_API void python_error::restore() const noexcept {
  if (taken_->exception != nullptr) {
    set_exception(ref::borrow(taken_->exception));
  } else {
    set_error_text(PyExc_SystemError, what());
  }
}

DLBRIDGE_NOINLINE DLBRIDGE_API python_error::taken::taken()
    : exception(take_exception().release()) {
  if (exception == nullptr) {
    text.append("python_error was thrown while no Python exception was pending");
    return;
  }
  text.append(detail::type_name(Py_TYPE(exception)).c_str());
  ref const words = ref::steal(api<PyObject_Str>(exception));
  char const* const utf8 = words ? api<PyUnicode_AsUTF8AndSize>(words.get(), nullptr) : nullptr;
  if (utf8 != nullptr) {
    text.append(": ").append(utf8);
  } else {
    api<PyErr_Clear>();
  }
}

DLBRIDGE_NOINLINE DLBRIDGE_API python_error::taken::~taken() { release_object(exception); }

DLBRIDGE_NOINLINE DLBRIDGE_API void set_error_thrown(char const* where) noexcept {
  try {
    throw;
  } catch (dlbridge::error const& e) {
    set_error(e.why(), where);
  } catch (python_error const& e) {
    e.restore();
  } catch (std::bad_alloc const&) {
    api<PyErr_NoMemory>();
  } catch (std::exception const& e) {
    set_error_text(PyExc_RuntimeError, e.what());
  } catch (...) {
    set_error_text(PyExc_RuntimeError, "a C++ exception of an unknown type");
  }
}

DLBRIDGE_NOINLINE DLBRIDGE_API void set_standard_error_thrown() noexcept {
  auto const set = [](PyObject* type, std::exception const& e) noexcept {
    set_error_text(type, e.what());
  };
  try {
    throw;
  } catch (std::out_of_range const& e) {
    set(PyExc_IndexError, e);
  } catch (std::invalid_argument const& e) {
    set(PyExc_ValueError, e);
  } catch (std::domain_error const& e) {
    set(PyExc_ValueError, e);
  } catch (std::length_error const& e) {
    set(PyExc_ValueError, e);
  } catch (std::range_error const& e) {
    set(PyExc_ValueError, e);
  } catch (std::overflow_error const& e) {
    set(PyExc_OverflowError, e);
  } catch (...) {
    set_error_thrown();
  }
}

DLBRIDGE_NOINLINE DLBRIDGE_API void set_cause(PyObject* cause) noexcept {
  if (cause == nullptr) {
    return;
  }
  ref exception = take_exception();
  Py_INCREF(cause);
  Py_INCREF(cause);
  api<PyException_SetContext>(exception.get(), cause);
  api<PyException_SetCause>(exception.get(), cause);
  set_exception(std::move(exception));
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
