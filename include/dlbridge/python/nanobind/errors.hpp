// init: registers the translation of dlbridge::error with nanobind; with conversions between
// nanobind's C++ exceptions and the pending Python exception.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include <dlbridge/error.hpp>
#include <dlbridge/python/call/returns.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/nanobind/detail/private_names.hpp>

#if NB_VERSION_MAJOR < 2 || (NB_VERSION_MAJOR == 2 && NB_VERSION_MINOR < 11)
#error \
    "dlbridge: nanobind 2.11 or newer is required. Write nanobind>=2.11 in the build requirements"
#endif

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_nanobind {
[[noreturn]] inline void throw_pending() { throw nb::python_error(); }

// Sets TypeError for an object of a bound class whose __init__ was not called, which no caster
// accepts. Returns false for other objects.
DLBRIDGE_COLD inline bool set_not_initialized(PyObject* object) noexcept;

// Translates exceptions of nanobind and of dlbridge, for def_fast and def_dlpack.
struct translator {
  static void translate() noexcept;

 private:
  DLBRIDGE_COLD static PyObject* type_of(nb::exception_type type) noexcept;
};

// Calls f, and throws nanobind's exception where f throws python_error.
template <class F>
decltype(auto) throwing_pending(F&& f) {
  try {
    return f();
  } catch (python_error const& e) {
    e.restore();
    throw_pending();
  }
}
}  // namespace python::on_nanobind

/// Makes every function of a nanobind module, including those of plain nanobind, translate
/// dlbridge::error to the Python exception of its errc. Call init first in NB_MODULE.
/// @param results the library of the tensors for which nothing else states one, as
/// returns{library::numpy}, or narrow. They apply to all modules of this extension
inline void init(::nanobind::module_&, result_choice results = {});

DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/nanobind/errors.inl>
