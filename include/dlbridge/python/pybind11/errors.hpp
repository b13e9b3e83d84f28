// init: registers the translation of dlbridge::error in a pybind11 module; with conversions between
// pybind11's C++ exceptions and the pending Python exception.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <utility>

#include <dlbridge/error.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/pybind11/detail/private_names.hpp>
#include <dlbridge/python/ref.hpp>

#if PYBIND11_VERSION_MAJOR < 3
#error "dlbridge: pybind11 3.0 or newer is required. Write pybind11>=3.0 in the build requirements"
#endif

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace on_pybind11 {

[[noreturn]] inline void throw_pending() { throw py::error_already_set(); }

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
inline py::object checked(ref object) {
  if (!object) {
    throw_pending();
  }
  return py::reinterpret_steal<py::object>(object.release());
}

// Translates exceptions of dlbridge, and others as pybind11 does, also by registered translators.
// For def_fast and def_dlpack.
struct translator {
  static void translate() noexcept {
    try {
      throw;
    } catch (py::error_already_set& e) {
      e.restore();
    } catch (error const&) {
      set_error_thrown();
    } catch (python_error const& e) {
      e.restore();
    } catch (...) {
      translate_exception();
    }
  }
};

}  // namespace on_pybind11
}  // namespace python

/// Makes every function of a pybind11 module, including those of plain pybind11, translate
/// dlbridge::error to the Python exception of its errc. Call init first in PYBIND11_MODULE.
inline void init(pybind11::module_&) {
  if (char const* const why = python::import_refusal()) {
    throw pybind11::import_error(why);
  }
  if (!python::names::prepare()) {
    python::on_pybind11::throw_pending();
  }
  pybind11::register_local_exception_translator([](std::exception_ptr exception) {
    try {
      std::rethrow_exception(std::move(exception));
    } catch (error const& e) {
      python::set_error(e.why());
    } catch (python::python_error const& e) {
      e.restore();
    }
  });
}

}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
