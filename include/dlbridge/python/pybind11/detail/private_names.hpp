// The names of pybind11 that its documentation does not promise; no other header names them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <utility>

#include <dlbridge/abi.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_pybind11 {
namespace py = pybind11;

// One function of the chain of overloads that a Python function of pybind11 tries.
using chain_link = py::detail::function_record;

// The first function that the Python function with this self tries, or null if pybind11 did not
// make it.
inline chain_link const* first_in_chain(PyObject* self) noexcept {
  return self != nullptr ? py::detail::function_record_ptr_from_PyObject(self) : nullptr;
}
inline chain_link const* next_in_chain(chain_link const* link) noexcept { return link->next; }
// "(x: int) -> int"
inline char const* signature_of(chain_link const* link) noexcept { return link->signature; }
inline char const* name_of(chain_link const* link) noexcept { return link->name; }

template <class T>
using caster_of = py::detail::make_caster<T>;
// The base of the casters of bound classes.
template <class T>
using class_caster = py::detail::type_caster_base<T>;
template <class T, class Caster>
decltype(auto) value_in(Caster&& caster) {
  return py::detail::cast_op<T>(std::forward<Caster>(caster));
}

// pybind11's compile-time string.
template <char... Characters>
constexpr auto make_text() {
  return py::detail::descr<sizeof...(Characters)>(Characters...);
}
template <std::size_t Size>
constexpr auto make_text(char const (&literal)[Size]) {
  return py::detail::const_name(literal);
}

// Keeps an object until the function of pybind11 that is being called returns. Throws cast_error
// outside one.
inline void keep_for_call(py::handle object) {
  py::detail::loader_life_support::add_patient(object);
}

// Sets the Python exception of the C++ exception of the current catch block.
inline void translate_exception() { py::detail::try_translate_exceptions(); }

// Whether the C++ object exists: py::cast would allocate memory for it, which no constructor has
// initialized.
bool is_initialized(PyObject* self);

// Whether def_buffer was called for a class or a base of it.
bool has_buffer(PyTypeObject* type);
}  // namespace python::on_pybind11
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/pybind11/detail/private_names.ipp>
#endif
