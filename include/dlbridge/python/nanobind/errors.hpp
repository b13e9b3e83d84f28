// init: registers the translation of dlbridge::error with nanobind; with conversions between
// nanobind's C++ exceptions and the pending Python exception.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <utility>

#include <dlbridge/error.hpp>
#include <dlbridge/python/call/detail/class_operations.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/nanobind/detail/private_names.hpp>

#if NB_VERSION_MAJOR < 2 || (NB_VERSION_MAJOR == 2 && NB_VERSION_MINOR < 11)
#error \
    "dlbridge: nanobind 2.11 or newer is required. Write nanobind>=2.11 in the build requirements"
#endif

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace on_nanobind {

[[noreturn]] inline void throw_pending() { throw nb::python_error(); }

// Sets TypeError for an object of a bound class whose __init__ was not called, which no caster
// accepts. Returns false for other objects.
DLBRIDGE_COLD inline bool set_not_initialized(PyObject* object) noexcept {
  if (!nb::inst_check(object) || nb::inst_ready(object)) {
    return false;
  }
  set_error_text(PyExc_TypeError, python::detail::not_initialized);
  return true;
}

// Translates exceptions of nanobind and of dlbridge, for def_fast and def_dlpack.
struct translator {
  static void translate() noexcept {
    try {
      throw;
    } catch (nb::python_error& e) {
      e.restore();
    } catch (nb::builtin_exception const& e) {
      set_error_text(type_of(e.type()), e.what());
    } catch (...) {
      set_standard_error_thrown();
    }
  }

 private:
  DLBRIDGE_COLD static PyObject* type_of(nb::exception_type type) noexcept {
    switch (type) {
      case nb::exception_type::stop_iteration:
        return PyExc_StopIteration;
      case nb::exception_type::index_error:
        return PyExc_IndexError;
      case nb::exception_type::key_error:
        return PyExc_KeyError;
      case nb::exception_type::value_error:
        return PyExc_ValueError;
      case nb::exception_type::type_error:
        return PyExc_TypeError;
      case nb::exception_type::buffer_error:
        return PyExc_BufferError;
      case nb::exception_type::import_error:
        return PyExc_ImportError;
      case nb::exception_type::attribute_error:
        return PyExc_AttributeError;
      default:
        return PyExc_RuntimeError;
    }
  }
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

}  // namespace on_nanobind
}  // namespace python

/// Makes every function of a nanobind module, including those of plain nanobind, translate
/// dlbridge::error to the Python exception of its errc. Call init first in NB_MODULE.
inline void init(::nanobind::module_&) {
  if (char const* const why = python::import_refusal()) {
    throw ::nanobind::import_error(why);
  }
  if (!python::names::prepare()) {
    python::on_nanobind::throw_pending();
  }
  ::nanobind::register_exception_translator([](std::exception_ptr const& exception, void*) {
    try {
      std::rethrow_exception(exception);
    } catch (error const& e) {
      python::set_error(e.why());
    } catch (python::python_error const& e) {
      e.restore();
    }
  });
}

}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
