// The one table from errc to Python exception classes, and how a report becomes the pending
// exception.
// floor 2 · a refusal, said in Python
#pragma once

#include <new>

#include <dlbridge/error.hpp>
#include <dlbridge/python/interp.hpp>

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

/// One row for each errc, in its order. TypeError is for what is no tensor at all: consumers read
/// it as "old producer" and ask again with fewer keywords, so no refusal of a tensor may be one.
struct exception_row {
  errc code;
  PyObject* const* exception;  // null: copy_forbidden_error()
};
DLBRIDGE_LOCAL inline exception_row const exception_rows[] = {
    {errc::not_a_producer, &PyExc_TypeError},
    {errc::not_a_capsule, &PyExc_TypeError},
    {errc::capsule_used, &PyExc_ValueError},
    {errc::version_mismatch, &PyExc_BufferError},
    {errc::malformed, &PyExc_BufferError},
    {errc::overflow, &PyExc_BufferError},
    {errc::null_data, &PyExc_BufferError},
    {errc::dtype_mismatch, &PyExc_BufferError},
    {errc::rank_mismatch, &PyExc_BufferError},
    {errc::extent_mismatch, &PyExc_BufferError},
    {errc::device_mismatch, &PyExc_BufferError},
    {errc::layout_mismatch, &PyExc_BufferError},
    {errc::read_only, &PyExc_BufferError},
    {errc::misaligned, &PyExc_BufferError},
    {errc::copy_forbidden, nullptr},
    {errc::bad_argument, &PyExc_ValueError},
    {errc::bad_stream, &PyExc_ValueError},
    {errc::capturing, &PyExc_RuntimeError},
    {errc::runtime_missing, &PyExc_RuntimeError},
    {errc::runtime_failed, &PyExc_RuntimeError},
    {errc::producer_failed, &PyExc_BufferError},
    {errc::out_of_memory, &PyExc_MemoryError},
};
static_assert(sizeof(exception_rows) / sizeof(exception_rows[0]) == errc_count,
              "every errc has its exception class");

/// The class that stands for a reason; borrowed.
inline PyObject* exception_for(errc code) noexcept {
  exception_row const& found = exception_rows[static_cast<std::size_t>(code)];
  if (found.exception != nullptr) {
    return *found.exception;
  }
  PyObject* const own = copy_forbidden_error();
  return own != nullptr ? own : PyExc_BufferError;
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
