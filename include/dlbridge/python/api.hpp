// api, decref: call Python's C API so that the end of the interpreter cannot unwind the caller.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/exit_guard.hpp>
#include <dlbridge/python/detail/private_api.hpp>

#if defined(__GNUC__) && !defined(__EXCEPTIONS)
#error "dlbridge's Python headers require exceptions: compile without -fno-exceptions."
#endif

// The units of one extension are all header-only or all compiled, with DLBRIDGE_COMPILED. A linker
// refuses a variable that is thread-local in the compiled units only. Its message has this name.
// With clang++ only src/python.cpp defines the thread-local one, which the other units require:
// thin LTO would make of all but one definition declarations that are not thread-local.
#if defined(__ELF__)
#if DLBRIDGE_HEADER_ONLY
#define DLBRIDGE_MARK char
#else
#define DLBRIDGE_MARK __thread char
#endif
extern "C" {
extern DLBRIDGE_LOCAL DLBRIDGE_MARK
    dlbridge_header_only_and_compiled_units_do_not_mix_in_one_extension;
#if DLBRIDGE_HEADER_ONLY || !defined(__clang__)
__attribute__((
    weak, used)) DLBRIDGE_MARK dlbridge_header_only_and_compiled_units_do_not_mix_in_one_extension =
    0;
#endif
#if !DLBRIDGE_HEADER_ONLY  // the bodies were compiled with Py_LIMITED_API if the unit is
#if defined(Py_LIMITED_API)
#define DLBRIDGE_BODIES dlbridge_units_with_Py_LIMITED_API_require_bodies_compiled_with_it
#else
#define DLBRIDGE_BODIES dlbridge_units_without_Py_LIMITED_API_require_bodies_compiled_without_it
#endif
extern DLBRIDGE_LOCAL char DLBRIDGE_BODIES;
__attribute__((used)) static char* const dlbridge_required = &DLBRIDGE_BODIES;
#endif
}
#undef DLBRIDGE_MARK
#endif

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
/// Tensors and Python objects without a binding library: imports, exports, exceptions.
namespace python {
/// Whether this process may use Python objects. The result is false before the initialization of
/// the interpreter, and from the beginning of its finalization. A deleter that runs then leaks its
/// object on purpose (spec 3.3).
/// @note Any thread may call it, with or without the GIL.
inline bool interpreter_alive() noexcept;

namespace detail {
// Whether a C++ exception is unwinding the stack, of a defective extension that the C API called. A
// thread may also end while it destroys the objects of a C++ exception; the interpreter is then
// finalized.
bool is_thrown_through_python() noexcept;
using api_guard = dlbridge::detail::basic_exit_guard<&is_thrown_through_python>;

// The same for a function of the extension. Its exception may be one of another C++ runtime, which
// is_thrown() does not see; CPython ends threads only after its finalization has begun.
bool is_thrown_by_function() noexcept;
// As dlbridge::detail::call_guarded.
template <class F>
DLBRIDGE_INLINE decltype(auto) call_function(F&& function) {
  using guard = dlbridge::detail::basic_exit_guard<&is_thrown_by_function>;
  return dlbridge::detail::call_guarded<guard>(std::forward<F>(function));
}
}  // namespace detail

/// Calls a function of Python's C API, such as api<PyObject_GetAttr>(object, name). Every call that
/// may run Python code has this form: while Python code runs, the thread may release the GIL, and
/// CPython up to 3.13 ends a thread that then waits for the GIL of a finalized interpreter
/// (exit_guard.hpp). Python code may also run when a container is allocated, which may start a
/// garbage collection, and when a reference is released or an exception is set.
template <auto Function, class... Arguments>
DLBRIDGE_INLINE auto api(Arguments... arguments) {
  detail::api_guard guard;
  if constexpr (std::is_void_v<decltype(Function(arguments...))>) {
    Function(arguments...);
    guard.returned();
  } else {
    auto const result = Function(arguments...);
    guard.returned();
    return result;
  }
}

namespace detail {
/// The same for a pointer to a function of Python or of an extension, such as a slot of a type.
template <class Function, class... Arguments>
DLBRIDGE_INLINE auto call_slot(Function* function, Arguments... arguments) {
  api_guard guard;
  auto const result = function(arguments...);
  guard.returned();
  return result;
}
}  // namespace detail

/// Sets a Python exception with a text, by PyErr_SetString. The cast selects CPython's function:
/// PyTorch's headers declare another one of that name.
void set_error_text(PyObject* type, char const* text);

/// Releases a reference to an object. Destructors may run Python code (see api).
DLBRIDGE_INLINE void decref(PyObject* object);
/// Releases a reference that may be null.
DLBRIDGE_INLINE void xdecref(PyObject* object);

#if defined(Py_TPFLAGS_IMMUTABLETYPE)
/// The flags of types whose attributes Python code cannot replace.
constexpr unsigned immutable_type = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE;
#else  // before Python 3.10
/// The flags of types whose attributes Python code cannot replace.
constexpr unsigned immutable_type = Py_TPFLAGS_DEFAULT;
#endif
}  // namespace python
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/api.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/api.ipp>
#endif
