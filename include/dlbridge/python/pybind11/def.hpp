// dlbridge::def: binds a C++ function of tensors to a pybind11 module or class, with the extras of
// pybind11's def; and def_static, def_property, def_property_readonly.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/pybind11/detail/bind.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

/// Binds a function whose parameters and result may be tensors to a module or a class, as the def
/// of pybind11 does.
///
/// A call imports each tensor argument once. It reports all arguments that do not fit in one
/// TypeError. A second def of the same name adds an overload; calls try the overloads in the order
/// of definition. A tensor returns to Python as an object of the first of these libraries that
/// applies:
/// - the library that the extra `returns` names
/// - the origin of a result of type argument
/// - the library of the first tensor argument
/// - dlbridge, as a Tensor
/// @param scope the module_ or class_
/// @param name the name in Python
/// @param function a function, a function object or a pointer to a member function
/// @param extra pybind11's extras (py::arg, defaults, a docstring, call_guard, ...), and returns
/// @throws pybind11::error_already_set TypeError, when the extras state that a parameter may be
/// None, which its type refuses
/// @throws std::runtime_error as pybind11's def, when scope has an attribute of that name to which
/// the function cannot be an overload
/// @par Thread and GIL
/// The caller holds the GIL. A call holds it while it converts arguments and results. A call_guard
/// applies to the C++ function alone, and may release the GIL if no parameter is a tensor_span.
template <class Scope, class F, class... Extra>
void def(Scope& scope, char const* name, F&& function, Extra const&... extra);

/// Binds a constructor whose parameters may be tensors: def(cls, py::init<tensor<float>, int>()),
/// or py::init with a factory function. A second one adds an overload.
/// @param scope the class_
/// @param constructor what py::init or py::init_alias returns
/// @param extra as of def
/// @throws pybind11::error_already_set as def
/// @par Thread and GIL
/// As def.
template <class Class, class Constructor, class... Extra>
python::on_pybind11::if_constructor<Class, Constructor, Extra...> def(Class& scope,
                                                                      Constructor&& constructor,
                                                                      Extra const&... extra);

/// Binds a static method, as def does.
/// @param scope the class_
/// @param name the name in Python
/// @param function a function or a function object; it has no self
/// @param extra as of def
/// @throws pybind11::error_already_set as def
/// @par Thread and GIL
/// As def.
template <class Class, class F, class... Extra>
void def_static(Class& scope, char const* name, F&& function, Extra const&... extra);

/// Binds a property, whose value may be a tensor. A getter that returns a member_view exposes
/// memory of the object without a copy.
/// @param scope the class_
/// @param name the name in Python
/// @param getter a function of the object, or a pointer to a member function
/// @param setter a function of the object and the value, such as a tensor_span<float const>; or
/// nullptr, for a property without setter
/// @param extra as of def; they apply to both functions. The docstring is that of the property
/// @throws pybind11::error_already_set when the class refuses the attribute
/// @par Thread and GIL
/// As def.
template <class Class, class Getter, class Setter, class... Extra>
void def_property(Class& scope, char const* name, Getter&& getter, Setter&& setter,
                  Extra const&... extra);
/// Binds a property without setter, as def_property does.
template <class Class, class Getter, class... Extra>
void def_property_readonly(Class& scope, char const* name, Getter&& getter, Extra const&... extra) {
  def_property(scope, name, std::forward<Getter>(getter), nullptr, extra...);
}

DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/pybind11/def.inl>
