// bind: makes the Python function of a C++ function of tensors, with the extras of pybind11's def,
// and adds it to its module or class.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/returns.hpp>
#include <dlbridge/python/pybind11/errors.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_pybind11 {
// The attribute of a module or class to which a function of this name becomes an overload, or None.
// py::getattr with a default drops every exception.
py::object sibling_in(py::handle scope, char const* name);

// display_name: the name in messages
// sibling: the function to which this one is an overload, or None
template <class Callee, class... Extra>
py::object make_function(Callee callee, char const* name, std::string const& display_name,
                         py::handle sibling, Extra const&... extra);

// Adds a function to a module, or a method to a class.
template <class Scope, class Callee, class... Extra>
void bind(Scope& scope, char const* name, Callee callee, std::string const& display_name,
          Extra const&... extra);

template <class Class>
struct constructed_class;
// void for what py::init and its like return, which add their function to a class.
template <class Class, class Constructor, class... Extra>
using if_constructor =
    decltype(std::declval<Constructor>().execute(std::declval<constructed_class<Class>&>(),
                                                 std::declval<Extra const&>()...),
             void());

// An accessor of a property, whose messages name it "class.property.accessor"; or None.
template <class Class, class... Extra>
py::object make_accessor(Class&, char const*, char const*, std::nullptr_t, Extra const&...) {
  return py::none();
}
template <class Class, class F, class... Extra>
py::object make_accessor(Class& bound, char const* name, char const* accessor, F&& function,
                         Extra const&... extra);

void insert_property(py::handle bound, char const* name, py::handle getter, py::handle setter,
                     char const* doc);
}  // namespace python::on_pybind11
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/pybind11/detail/bind.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/pybind11/detail/bind.ipp>
#endif
