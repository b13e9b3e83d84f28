// bind: makes the Python function of a C++ function of tensors, with the extras of nanobind's def,
// and adds it to its module or class.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <string>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/nanobind/detail/private_names.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_nanobind {
// An attribute of a module or class, or an empty reference.
inline ref attribute(PyObject* scope, char const* name);

// The name of a class, by which messages call its constructor.
inline std::string name_of(nb::handle bound) {
  return nb::borrow<nb::str>(bound.attr("__name__")).c_str();
}

/// Binds a function to a module or class.
/// @tparam Self the class whose method the function is, or void
template <class Self, class Scope, class F, class... Extra>
void bind(Scope& scope, char const* name, F&& function, Extra const&... extra);

/// Makes an accessor of a property, whose messages name it "class.property.accessor". A reference
/// that it returns refers to the object, as with nanobind's def_prop_rw. For nullptr, None.
/// @tparam Self the class
template <class Self, class F, class... Extra>
nb::object make_accessor(nb::handle bound, char const* name, char const* accessor, F&& function,
                         Extra const&... extra);

template <class Self, class... Extra>
nb::object make_accessor(nb::handle, char const*, char const*, std::nullptr_t, Extra const&...) {
  return nb::none();
}

template <class Self, class F, class... Extra>
nb::object make_setter(nb::handle bound, char const* name, F&& function, Extra const&... extra);

DLBRIDGE_COLD DLBRIDGE_NOINLINE inline void insert_property(nb::handle bound, char const* name,
                                                            nb::handle getter, nb::handle setter,
                                                            char const* doc) {
  nb::handle const property(reinterpret_cast<PyObject*>(&PyProperty_Type));
  nb::setattr(bound, name, property(getter, setter, nb::none(), doc));
}
}  // namespace python::on_nanobind
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/nanobind/detail/bind.inl>
