// The bodies of errors.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <exception>
#include <utility>

#include <dlbridge/python/call/detail/typing_names.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/pybind11/errors.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_pybind11 {
DLBRIDGE_API py::object checked(ref object) {
  if (!object) {
    throw_pending();
  }
  return py::reinterpret_steal<py::object>(object.release());
}

DLBRIDGE_API void throw_pending() { throw py::error_already_set(); }

DLBRIDGE_API void translator::translate() noexcept {
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
}  // namespace python::on_pybind11

DLBRIDGE_API void init(pybind11::module_& m, result_choice results) {
  python::detail::module_results.add(results);
  if (char const* const why = python::import_refusal()) {
    throw pybind11::import_error(why);
  }
  if (!python::names::prepare() || !python::add_typing_names(m.ptr())) {
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

DLBRIDGE_END_NAMESPACE
