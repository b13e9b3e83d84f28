// The one table from errc to Python exception classes, and how a report becomes the pending
// exception.
// layer: interpreter · a refusal, said in Python
#pragma once

#include <new>

#include <dlbridge/error.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

/// CopyForbiddenError, both a BufferError and a ValueError: the standard's text asks for the one
/// and for the other (spec 4.5). Borrowed; null with an exception set when it cannot be made.
DLBRIDGE_LOCAL inline PyObject* copy_forbidden_error() noexcept {
  static PyObject* made = nullptr;  // lives as long as the process
  if (made == nullptr) {
    ref const bases = ref::steal(PyTuple_Pack(2, PyExc_BufferError, PyExc_ValueError));
    made = bases ? PyErr_NewExceptionWithDoc(
                       "dlbridge.CopyForbiddenError",
                       "copy=False was asked for, and what was asked for with it needs a copy.",
                       bases.get(), nullptr)
                 : nullptr;
  }
  return made;
}

/// The exception class for a reason; borrowed. TypeError is only for objects that are no tensors:
/// consumers take a TypeError of __dlpack__ for an old producer and call again with fewer keywords,
/// so no refusal of a tensor may be one (spec 2.4).
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

/// Makes the report the pending exception, its text led by "where(): " if given. An exception that
/// was pending becomes its cause: what a producer said is never lost.
DLBRIDGE_COLD inline void set_error(report const& why, char const* where = nullptr) noexcept {
  ref cause = take_exception();
  message_text text;
  if (where != nullptr) {
    text.append(where).append("(): ");
  }
  text.append(message(why).c_str());
  // Names from outside may be in no encoding at all, and a cut may go through a character.
  ref const said = ref::steal(
      PyUnicode_DecodeUTF8(text.c_str(), static_cast<Py_ssize_t>(text.size()), "replace"));
  if (said) {
    PyErr_SetObject(exception_for(why.code()), said.get());
  }
  if (cause) {
    ref raised = take_exception();
    Py_INCREF(cause.get());
    PyException_SetContext(raised.get(), cause.get());
    PyException_SetCause(raised.get(), cause.release());
    set_exception(std::move(raised));
  }
}

/// A Python exception is pending: thrown by C++ that called Python, and turned back into that
/// exception at the border.
class DLBRIDGE_PUBLIC python_error : public std::exception {
 public:
  char const* what() const noexcept override { return "a Python exception is pending"; }
};

/// In a catch block: what was thrown becomes the pending exception.
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

/// Runs f, which may throw; what it throws becomes the pending exception, and false the answer.
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
