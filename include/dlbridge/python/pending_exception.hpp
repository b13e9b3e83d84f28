// take_exception, set_exception, suppress_exception, error_keeper: the pending Python exception.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// Removes the pending exception for the lifetime of this object, and restores it at the end. A
/// destructor that runs while an exception is pending thereby preserves it (spec 3.4). The object
/// discards an exception that is pending at the end of its own lifetime: code that must not lose it
/// reports it first.
/// @par Thread and GIL
/// The thread holds the GIL at construction and destruction.
class error_keeper {
 public:
  error_keeper() noexcept;
  ~error_keeper();
  error_keeper(error_keeper const&) = delete;
  error_keeper& operator=(error_keeper const&) = delete;

 private:
  bool pending_;
#if PY_VERSION_HEX < 0x030C0000
  PyObject* type_ = nullptr;
  PyObject* traceback_ = nullptr;
#endif
  PyObject* value_ = nullptr;
};

/// Removes the pending exception and returns it as an object, normalized and with its traceback.
/// @return the exception; empty when none is pending.
/// @pre The caller holds the GIL.
ref take_exception() noexcept;

/// Makes an exception object the pending exception, in place of one that is pending.
/// @pre exception is not empty.
/// @pre The caller holds the GIL.
void set_exception(ref exception) noexcept;

/// Whether Python code raised the pending exception, which then has a traceback.
/// @pre an exception is pending.
/// @pre The caller holds the GIL.
DLBRIDGE_COLD bool is_raised_by_python() noexcept;

/// Whether code may go on after an exception of this object or class: one that derives from
/// Exception, and is no MemoryError and no RecursionError. Others, such as KeyboardInterrupt, reach
/// the caller.
/// @pre The caller holds the GIL.
bool is_suppressible(PyObject* exception) noexcept;

/// Clears a pending exception, if it is suppressible.
/// @return false if it is not.
/// @pre The caller holds the GIL.
bool suppress_exception() noexcept;
}  // namespace python
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/pending_exception.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/pending_exception.ipp>
#endif
