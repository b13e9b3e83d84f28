// The bodies of api.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/api.hpp>

#if defined(__ELF__) && !DLBRIDGE_HEADER_ONLY
#if defined(__clang__)
__attribute__((
    used)) __thread char dlbridge_header_only_and_compiled_units_do_not_mix_in_one_extension = 0;
#endif
char DLBRIDGE_BODIES = 0;
#endif

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
DLBRIDGE_API bool is_thrown_through_python() noexcept {
  return interpreter_alive() && dlbridge::detail::is_thrown();
}

DLBRIDGE_API bool is_thrown_by_function() noexcept {
  return dlbridge::detail::is_thrown() || interpreter_alive();
}
}  // namespace detail

DLBRIDGE_API void set_error_text(PyObject* type, char const* text) {
  api<static_cast<void (*)(PyObject*, char const*)>(&PyErr_SetString)>(type, text);
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
