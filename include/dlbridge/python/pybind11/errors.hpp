// init: registers the translation of dlbridge::error in a pybind11 module; with conversions between
// pybind11's C++ exceptions and the pending Python exception.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <dlbridge/error.hpp>
#include <dlbridge/python/call/returns.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/pybind11/detail/private_names.hpp>
#include <dlbridge/python/ref.hpp>

#if PYBIND11_VERSION_MAJOR < 3
#error "dlbridge: pybind11 3.0 or newer is required. Write pybind11>=3.0 in the build requirements"
#endif

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_pybind11 {
[[noreturn]] void throw_pending();

// Calls f, and throws pybind11's exception where f throws python_error. While pybind11 initializes
// a module, it would replace the exception by an ImportError with the text of python_error.
template <class F>
decltype(auto) throwing_pending(F&& f) {
  try {
    return f();
  } catch (python_error const& e) {
    e.restore();
    throw_pending();
  }
}

// Throws the pending exception if there is no object.
py::object checked(ref object);

// Translates exceptions of dlbridge, and others as pybind11 does, also by registered translators.
// For def_fast and def_dlpack.
struct translator {
  static void translate() noexcept;
};
}  // namespace python::on_pybind11

/// Makes every function of a pybind11 module, including those of plain pybind11, translate
/// dlbridge::error to the Python exception of its errc. Call init first in PYBIND11_MODULE.
/// @param results the library of the tensors for which nothing else states one, as
/// returns{library::numpy}, or narrow. They apply to all modules of this extension
void init(pybind11::module_&, result_choice results = {});

DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/pybind11/errors.ipp>
#endif
