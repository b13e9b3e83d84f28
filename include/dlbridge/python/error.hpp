// set_error: makes a report the pending Python exception, of the class that exception_for chooses.
// layer: interpreter · refusals as Python exceptions
#pragma once

#include <new>

#include <dlbridge/error.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

/// The class CopyForbiddenError. It derives from BufferError and from ValueError, as the array API
/// requires both in different places (spec 4.5).
/// @return a borrowed reference, valid for the life of the process; null, with an exception set,
///   when the class cannot be created.
/// @par Thread and GIL
/// The caller holds the GIL.
DLBRIDGE_LOCAL inline PyObject* copy_forbidden_error() noexcept {
  static PyObject* type = nullptr;
  if (type == nullptr) {
    ref const bases = ref::steal(PyTuple_Pack(2, PyExc_BufferError, PyExc_ValueError));
    type = bases ? PyErr_NewExceptionWithDoc(
                       "dlbridge.CopyForbiddenError",
                       "Raised when copy=False was passed and the result would need a copy.",
                       bases.get(), nullptr)
                 : nullptr;
  }
  return type;
}

/// The exception class for a reason. TypeError is only for objects that are not tensors: consumers
/// treat a TypeError of `__dlpack__` as the sign of an old producer and call again with fewer
/// keywords (spec 2.4).
/// @return a borrowed reference.
inline PyObject* exception_for(errc code) noexcept {
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

/// Makes a report the pending exception. An exception that was pending becomes its cause, so that
/// the one of a producer is not lost.
/// @param where a function name that the text begins with, as in "where(): ..."; or null.
/// @par Thread and GIL
/// The caller holds the GIL.
DLBRIDGE_COLD inline void set_error(report const& why, char const* where = nullptr) noexcept {
  ref cause = take_exception();
  message_text text;
  if (where != nullptr) {
    text.append(where).append("(): ");
  }
  text.append(message(why).c_str());
  // A foreign name may be in any encoding, and truncation may split a character.
  ref const string = ref::steal(
      PyUnicode_DecodeUTF8(text.c_str(), static_cast<Py_ssize_t>(text.size()), "replace"));
  if (string) {
    PyErr_SetObject(exception_for(why.code()), string.get());
  }
  if (cause) {
    ref raised = take_exception();
    Py_INCREF(cause.get());
    PyException_SetContext(raised.get(), cause.get());
    PyException_SetCause(raised.get(), cause.release());
    set_exception(std::move(raised));
  }
}

/// The C++ exception for a pending Python exception: thrown by code that called Python, and ignored
/// by set_error_thrown, so that the pending one reaches the Python caller.
class DLBRIDGE_PUBLIC python_error : public std::exception {
 public:
  char const* what() const noexcept override { return "a Python exception is pending"; }
};

/// Called in a catch block: makes the C++ exception that was caught the pending Python exception.
/// @param where as for set_error.
DLBRIDGE_COLD inline void set_error_thrown(char const* where = nullptr) noexcept {
  try {
    throw;
  } catch (dlbridge::error const& e) {
    set_error(e.why(), where);
  } catch (python_error const&) {
  } catch (std::bad_alloc const&) {
    PyErr_NoMemory();
  } catch (std::exception const& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "a C++ exception of an unknown type");
  }
}

/// Calls f, which may throw.
/// @param where as for set_error.
/// @return false when f threw; the pending Python exception is then as set_error_thrown sets it.
template <class F>
bool guarded(F&& f, char const* where = nullptr) noexcept {
  try {
    f();
    return true;
  } catch (...) {
    set_error_thrown(where);
  }
  return false;
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
