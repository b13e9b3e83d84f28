// core: the namespace of the module's own code, which uses dlbridge's names without a prefix, and
// throws while a Python exception is pending.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/ref.hpp>

namespace core DLBRIDGE_LOCAL {
using namespace dlbridge;
using namespace dlbridge::python;
using namespace dlbridge::python::detail;

/// Thrown while a Python exception is pending, which stays pending.
struct pending_exception {};

[[noreturn]] DLBRIDGE_COLD inline void throw_pending() { throw pending_exception(); }

/// Throws unless a call has succeeded, which else has set a Python exception.
DLBRIDGE_INLINE void require(bool is_done) {
  if (!is_done) {
    throw_pending();
  }
}
/// The same for a new object, whose reference the result takes.
DLBRIDGE_INLINE ref checked(PyObject* created) {
  require(created != nullptr);
  return ref::steal(created);
}
DLBRIDGE_INLINE ref checked(ref created) {
  require(static_cast<bool>(created));
  return created;
}

/// Raises a Python exception, with the text that PyErr_Format makes of the arguments.
template <class... Arguments>
[[noreturn]] DLBRIDGE_COLD void fail(PyObject* type, char const* format, Arguments... arguments) {
  api<PyErr_Format>(type, format, arguments...);
  throw_pending();
}
/// The same for a report, as set_error.
[[noreturn]] DLBRIDGE_COLD inline void fail(report const& why, char const* where = nullptr) {
  set_error(why, where);
  throw_pending();
}

/// Calls a function that may throw.
/// @return false, with a Python exception set, where it threw
template <class F>
bool completes(F&& f) noexcept {
  try {
    call_function(f);
    return true;
  } catch (pending_exception const&) {
    return false;
  } catch (...) {
    set_error_thrown();
    return false;
  }
}

/// call: a function of Python's C API of a function that throws.
template <auto Function>
struct entry;
template <class... Arguments, ref (*Function)(Arguments...)>
struct entry<Function> {
  static PyObject* call(Arguments... arguments) noexcept {
    ref result;
    return completes([&] { result = Function(arguments...); }) ? result.release() : nullptr;
  }
};
}  // namespace core DLBRIDGE_LOCAL
