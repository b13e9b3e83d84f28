// The inline bodies of errors.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <exception>

#include <dlbridge/python/call/detail/class_operations.hpp>
#include <dlbridge/python/call/detail/typing_names.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/nanobind/errors.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_nanobind {
bool set_not_initialized(PyObject* object) noexcept {
  if (!nb::inst_check(object) || nb::inst_ready(object)) {
    return false;
  }
  set_error_text(PyExc_TypeError, python::detail::not_initialized);
  return true;
}

inline void translator::translate() noexcept {
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

inline PyObject* translator::type_of(nb::exception_type type) noexcept {
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
}  // namespace python::on_nanobind

void init(::nanobind::module_& m, result_choice results) {
  python::detail::module_results.add(results);
  if (char const* const why = python::import_refusal()) {
    throw ::nanobind::import_error(why);
  }
  if (!python::names::prepare() || !python::add_typing_names(m.ptr())) {
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

DLBRIDGE_END_NAMESPACE
