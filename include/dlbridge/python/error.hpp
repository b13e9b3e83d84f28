// set_error: raises a report as a Python exception of the class that exception_for chooses.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <new>
#include <stdexcept>

#include <dlbridge/error.hpp>
#include <dlbridge/exit_guard.hpp>
#include <dlbridge/python/object_owner.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

/// The text of an object in a message: its repr(), or its type where that raises, as that of an
/// int of 5000 digits does.
/// @return a str; empty, with an exception set, where the exception of repr() is not suppressible.
/// @par Thread and GIL
/// The caller holds the GIL.
DLBRIDGE_COLD inline ref repr_of(PyObject* object) noexcept {
  ref text = ref::steal(api<PyObject_Repr>(object));
  if (!text && PyErr_ExceptionMatches(PyExc_RecursionError) != 0) {  // of a deep list
    api<PyErr_Clear>();
  }
  if (!text && suppress_exception()) {
    text = ref::steal(api<PyUnicode_FromFormat>("a value of type %s", Py_TYPE(object)->tp_name));
  }
  return text;
}

/// Why a module that uses dlbridge cannot be imported in this interpreter, to which the objects
/// that dlbridge caches do not belong; null in the main interpreter.
/// @par Thread and GIL
/// The caller holds the GIL.
inline char const* import_refusal() noexcept {
  return api<PyInterpreterState_Get>() != api<PyInterpreterState_Main>()
             ? "this module uses dlbridge, which does not support subinterpreters: "
               "import it in the main interpreter"
             : nullptr;
}

/// The class CopyForbiddenError. It derives from BufferError and from ValueError, because the array
/// API standard requires one in one place and the other in another (spec 4.5).
/// @return a borrowed reference, valid for the life of the process; null, with an exception set,
///   when the class cannot be created.
/// @par Thread and GIL
/// The caller holds the GIL.
DLBRIDGE_LOCAL inline PyObject* copy_forbidden_error() noexcept {
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

/// The exception class for a reason. TypeError is only for objects that are not tensors: consumers
/// treat a TypeError of `__dlpack__` as the sign of an old producer and call again with fewer
/// keywords (spec 2.4).
/// @return a borrowed reference.
/// @par Thread and GIL
/// The caller holds the GIL.
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

/// Raises a report as a Python exception. An exception that was pending becomes the cause of the
/// new one, so that an exception of the producer is not lost. One that is not suppressible, such as
/// KeyboardInterrupt, stays pending instead.
/// @param why the report.
/// @param where the name of a function, with which the message begins: "where(): ..."; or null.
/// @pre why.ok() is false.
/// @par Thread and GIL
/// The caller holds the GIL.
DLBRIDGE_COLD inline void set_error(report const& why, char const* where = nullptr) noexcept {
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

/// Whether a report is ok(). Raises it as set_error does if it is not.
/// @par Thread and GIL
/// The caller holds the GIL.
DLBRIDGE_COLD inline bool succeeded(report const& why, char const* where = nullptr) noexcept {
  if (!why.ok()) {
    set_error(why, where);
  }
  return why.ok();
}

/// A Python exception as a C++ exception. Code throws it after a call of Python raised. It owns the
/// Python exception, so that C++ code may catch it and go on, or throw it again in another thread.
/// @par Thread and GIL
/// The caller of the constructor and of restore() holds the GIL. Any thread may copy and destroy
/// the exception and read its text.
class DLBRIDGE_PUBLIC python_error : public std::exception {
 public:
  /// Takes the pending Python exception: none is pending afterwards.
  DLBRIDGE_COLD python_error() : taken_(std::make_shared<taken>()) {}

  /// Raises the Python exception again. Raises SystemError where none was pending when the object
  /// was constructed.
  DLBRIDGE_COLD void restore() const noexcept {
    if (taken_->exception != nullptr) {
      set_exception(ref::borrow(taken_->exception));
    } else {
      set_error_text(PyExc_SystemError, what());
    }
  }

  /// @return the class of the Python exception and its text: "MemoryError: ..."
  char const* what() const noexcept override { return taken_->text.c_str(); }

 private:
  struct taken {
    DLBRIDGE_COLD taken() : exception(take_exception().release()) {
      if (exception == nullptr) {
        text.append("python_error was thrown while no Python exception was pending");
        return;
      }
      text.append(Py_TYPE(exception)->tp_name);
      ref const words = ref::steal(api<PyObject_Str>(exception));
      char const* const utf8 = words ? api<PyUnicode_AsUTF8>(words.get()) : nullptr;
      if (utf8 != nullptr) {
        text.append(": ").append(utf8);
      } else {
        api<PyErr_Clear>();
      }
    }
    DLBRIDGE_COLD ~taken() { release_object(exception); }
    taken(taken const&) = delete;
    taken& operator=(taken const&) = delete;

    PyObject* exception;
    message_text text{};
  };

  std::shared_ptr<taken const> taken_;
};

/// Raises the C++ exception of the current catch block as a Python exception.
/// @param where as for set_error.
/// @pre a catch block calls the function. The code of the try block ran under call_function, as
///   catch (...) would otherwise catch the end of the thread (exit_guard.hpp).
/// @par Thread and GIL
/// The caller holds the GIL.
DLBRIDGE_COLD inline void set_error_thrown(char const* where = nullptr) noexcept {
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

/// As set_error_thrown, with the Python exceptions that pybind11 and nanobind raise for those of
/// the standard library, which the body of a function may throw.
DLBRIDGE_COLD inline void set_standard_error_thrown() noexcept {
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

/// Sets the cause of the pending exception. Does nothing if cause is null.
/// @par Thread and GIL
/// The caller holds the GIL.
DLBRIDGE_COLD inline void set_cause(PyObject* cause) noexcept {
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

/// Calls f, and raises a C++ exception of f as a Python exception.
/// @param f the function; it may throw.
/// @param where as for set_error.
/// @return false when f threw; the Python exception of set_error_thrown is then pending.
/// @par Thread and GIL
/// The caller holds the GIL when f returns or throws.
template <class F>
bool guarded(F&& f, char const* where = nullptr) noexcept {
  try {
    detail::call_function(f);
    return true;
  } catch (...) {
    set_error_thrown(where);
  }
  return false;
}

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
