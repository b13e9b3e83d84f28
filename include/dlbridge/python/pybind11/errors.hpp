// What crosses between pybind11's exceptions and Python's pending one, and init, which prepares a
// module for ours.
// layer: bindings · where pybind11 begins
#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <utility>

#include <dlbridge/error.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
namespace py = pybind11;

[[noreturn]] inline void throw_pending() { throw py::error_already_set(); }

inline py::object checked(ref made) {
  if (!made) {
    throw_pending();
  }
  return py::reinterpret_steal<py::object>(made.release());
}

// pybind11's own exceptions and translators, after ours.
struct pybind11_translator {
  static void translate() noexcept {
    try {
      throw;
    } catch (py::error_already_set& e) {
      e.restore();
    } catch (py::builtin_exception const& e) {
      e.set_error();
    } catch (...) {
      set_error_thrown();
    }
  }
};

}  // namespace detail
}  // namespace python

/// Prepares a module: dlbridge::error becomes the Python exception that stands for its reason, for
/// functions bound by plain pybind11 too. Call it first in PYBIND11_MODULE.
inline void init(pybind11::module_&) {
  pybind11::register_local_exception_translator([](std::exception_ptr raised) {
    try {
      std::rethrow_exception(std::move(raised));
    } catch (error const& e) {
      python::set_error(e.why());
    } catch (python::python_error const&) {
    }
  });
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
