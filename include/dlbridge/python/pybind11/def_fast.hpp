// dlbridge::def_fast: binds a C++ function of tensors and numbers to a pybind11 module without
// pybind11's dispatcher.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <initializer_list>
#include <optional>
#include <utility>

#include <dlbridge/python/call/def_fast.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/pybind11/errors.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

/// Adds a function of tensors and numbers to a pybind11 module, as python::def_fast does:
/// def_fast<&f>(m, "f", {"x", "y"}, "The docstring.", returns{library::numpy}). The function may
/// throw pybind11's exceptions.
/// @tparam Function the function
/// @param m the module
/// @param name the name in Python
/// @param parameters the names of the parameters; a missing one is arg0, arg1, ...
/// @param doc the docstring, which follows the signature
/// @param results the extra `returns` or `narrow`
/// @throws pybind11::error_already_set with the Python exception, when the module refuses the
/// function
/// @throws error as python::def_fast
/// @par Thread and GIL
/// The caller holds the GIL. The function runs with the GIL held.
template <auto Function, class Results = result_choice>
void def_fast(pybind11::module_& m, char const* name,
              std::initializer_list<char const*> parameters = {}, char const* doc = "",
              Results results = {}) {
  python::on_pybind11::throwing_pending([&] {
    python::def_fast<Function, python::on_pybind11::translator>(m.ptr(), name, parameters, doc,
                                                                results);
  });
}
/// Adds a lambda that captures nothing, in the same way.
template <class Lambda, class Results = result_choice>
void def_fast(pybind11::module_& m, char const* name, Lambda lambda,
              std::initializer_list<char const*> parameters = {}, char const* doc = "",
              Results results = {}) {
  python::on_pybind11::throwing_pending([&] {
    python::def_fast<Lambda, python::on_pybind11::translator>(m.ptr(), name, std::move(lambda),
                                                              parameters, doc, results);
  });
}

DLBRIDGE_END_NAMESPACE
