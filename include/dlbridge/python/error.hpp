// set_error: raises a report as a Python exception of the class that exception_for chooses.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include <dlbridge/error.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// The text of an object in a message: its repr(), or its type where that raises, as that of an
/// int of 5000 digits does.
/// @return a str; empty, with an exception set, where the exception of repr() is not suppressible.
/// @pre The caller holds the GIL.
DLBRIDGE_COLD ref repr_of(PyObject* object) noexcept;

/// Why a module that uses dlbridge cannot be imported in this interpreter, to which the objects
/// that dlbridge caches do not belong; null in the main interpreter.
/// @pre The caller holds the GIL.
char const* import_refusal() noexcept;

/// The class CopyForbiddenError. It derives from BufferError and from ValueError, because the array
/// API standard requires one in one place and the other in another (spec 4.5).
/// @return a borrowed reference, valid for the life of the process; null, with an exception set,
///   when the class cannot be created.
/// @pre The caller holds the GIL.
DLBRIDGE_LOCAL PyObject* copy_forbidden_error() noexcept;

/// The exception class for a reason. TypeError is only for objects that are not tensors: consumers
/// treat a TypeError of `__dlpack__` as the sign of an old producer and call again with fewer
/// keywords (spec 2.4).
/// @return a borrowed reference.
/// @pre The caller holds the GIL.
PyObject* exception_for(errc code) noexcept;

/// Raises a report as a Python exception. An exception that was pending becomes the cause of the
/// new one, so that an exception of the producer is not lost. One that is not suppressible, such as
/// KeyboardInterrupt, stays pending instead.
/// @param why the report.
/// @param where the name of a function, with which the message begins: "where(): ..."; or null.
/// @pre why.ok() is false.
/// @pre The caller holds the GIL.
DLBRIDGE_COLD void set_error(report const& why, char const* where = nullptr) noexcept;

/// Whether a report is ok(). Raises it as set_error does if it is not.
/// @pre The caller holds the GIL.
DLBRIDGE_COLD bool succeeded(report const& why, char const* where = nullptr) noexcept;

/// A Python exception as a C++ exception. Code throws it after a call of Python raised. It owns the
/// Python exception, so that C++ code may catch it and go on, or throw it again in another thread.
/// @par Thread and GIL
/// The caller of the constructor and of restore() holds the GIL. Any thread may copy and destroy
/// the exception and read its text.
class DLBRIDGE_PUBLIC python_error : public std::exception {
 public:
  /// Takes the pending Python exception: none is pending afterwards.
  DLBRIDGE_COLD python_error();

  /// Raises the Python exception again. Raises SystemError where none was pending when the object
  /// was constructed.
  DLBRIDGE_COLD void restore() const noexcept;

  /// The class of the Python exception and its text: "MemoryError: ..."
  char const* what() const noexcept override { return taken_->text.c_str(); }

 private:
  struct taken {
    DLBRIDGE_COLD taken();
    DLBRIDGE_COLD ~taken();
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
/// @pre The caller holds the GIL.
DLBRIDGE_COLD void set_error_thrown(char const* where = nullptr) noexcept;

/// As set_error_thrown, with the Python exceptions that pybind11 and nanobind raise for those of
/// the standard library, which the body of a function may throw.
DLBRIDGE_COLD void set_standard_error_thrown() noexcept;

/// Sets the cause of the pending exception. Does nothing if cause is null.
/// @pre The caller holds the GIL.
DLBRIDGE_COLD void set_cause(PyObject* cause) noexcept;

/// Calls f, and raises a C++ exception of f as a Python exception.
/// @param f the function; it may throw.
/// @param where as for set_error.
/// @return false when f threw; the Python exception of set_error_thrown is then pending.
/// @par Thread and GIL
/// The caller holds the GIL when f returns or throws.
template <class F>
bool guarded(F&& f, char const* where = nullptr) noexcept;
}  // namespace python
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/error.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/error.ipp>
#endif
