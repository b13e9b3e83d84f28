// def_fast: binds a C++ function of tensors and numbers as a vectorcall function, at the cost of a
// function written against the C API.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <initializer_list>

#include <dlbridge/python/call/detail/active_call.hpp>
#include <dlbridge/python/call/detail/function_record.hpp>
#include <dlbridge/python/error.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
// Translates a C++ exception that the function threw to a Python exception. Each binding has a
// translator that also translates the exceptions of its library.
struct plain_translator {
  static void translate() noexcept { set_standard_error_thrown(); }
};
}  // namespace detail

/// Adds a function of tensors and numbers to a module: def_fast<&f>(module, "f", {"x", "y"}).
///
/// Callers pass arguments by position or keyword. A fast function has no defaults, no overloads and
/// no implicit conversions. It borrows the tensors of its tensor_span parameters for the call, and
/// returns tensors as a function of def does.
/// @tparam Function the function, whose parameters are tensors and numbers, and which returns a
/// tensor, a number or nothing
/// @tparam Translator translates exceptions that the function throws
/// @param module the module
/// @param name the name in Python
/// @param parameters the names of the parameters; a missing one is arg0, arg1, ...
/// @param doc the docstring, which follows the signature
/// @param results the extra `returns` or `narrow`
/// @throws python_error with the exception of the module, when the module refuses the function
/// @throws error bad_argument, when there are more names than parameters, or when the module has a
///   function of this name
/// @par Thread and GIL
/// The caller holds the GIL. The function runs with the GIL held.
template <auto Function, class Translator = detail::plain_translator, class Results = result_choice>
void def_fast(PyObject* module, char const* name,
              std::initializer_list<char const*> parameters = {}, char const* doc = "",
              Results results = {});
/// Adds a lambda that captures nothing, in the same way.
template <class Lambda, class Translator = detail::plain_translator, class Results = result_choice>
void def_fast(PyObject* module, char const* name, Lambda lambda,
              std::initializer_list<char const*> parameters = {}, char const* doc = "",
              Results results = {});
}  // namespace python
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/call/def_fast.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/def_fast.ipp>
#endif
