// dlbridge::def: binds a C++ function of tensors to a nanobind module or class, with the extras of
// nanobind's def; and def_static, def_property, def_property_readonly.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/nanobind/detail/bind.hpp>
#include <dlbridge/python/nanobind/errors.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

/// Binds a function whose parameters and result may be tensors to a nanobind module, as its def
/// does.
///
/// A call imports each tensor argument once. It reports all arguments that do not fit in one
/// TypeError. A second def of the same name adds an overload; calls try the overloads in the order
/// of definition. A tensor returns to Python as an object of the first of these libraries that
/// applies:
/// - the library that the extra `returns` names
/// - the origin of a result of type argument
/// - the library of the first tensor argument
/// - dlbridge, as a Tensor
/// @param scope the module
/// @param name the name in Python
/// @param function a function or a function object
/// @param extra nanobind's extras (nb::arg, defaults, a docstring, call_guard, ...), and returns
/// @throws nanobind::python_error TypeError, when scope has an attribute of that name that is no
/// function of nanobind
/// @par Thread and GIL
/// The caller holds the GIL. A call holds it while it converts arguments and results. A call_guard
/// applies to the C++ function alone, and may release the GIL if no parameter is a tensor_span.
template <class F, class... Extra>
void def(::nanobind::module_& scope, char const* name, F&& function, Extra const&... extra) {
  python::on_nanobind::bind<void>(scope, name, std::forward<F>(function), extra...);
}
/// Binds a method of a class, in the same way. The function takes the object as its first
/// parameter; a pointer to a member function does so by itself.
template <class T, class... Options, class F, class... Extra>
void def(::nanobind::class_<T, Options...>& scope, char const* name, F&& function,
         Extra const&... extra) {
  python::on_nanobind::bind<T>(scope, name, std::forward<F>(function), extra...);
}
/// Binds a constructor: def(c, nb::init<tensor_span<float const>>(), nb::arg("x")).
template <class T, class... Options, class... Parameters, class... Extra>
void def(::nanobind::class_<T, Options...>& scope, ::nanobind::init<Parameters...>,
         Extra const&... extra);
/// Binds nb::new_(factory), whose factory returns the object, in the same way.
template <class T, class... Options, class F, class Signature, class... Extra>
void def(::nanobind::class_<T, Options...>& scope, ::nanobind::new_<F, Signature> constructor,
         Extra const&... extra);
/// Binds a static method of a class, in the same way.
template <class T, class... Options, class F, class... Extra>
void def_static(::nanobind::class_<T, Options...>& scope, char const* name, F&& function,
                Extra const&... extra) {
  python::on_nanobind::bind<void>(scope, name, std::forward<F>(function), extra...);
}

/// Binds a property, whose value may be a tensor. A getter that returns a member_view exposes
/// memory of the object without a copy.
/// @param scope the class_
/// @param name the name in Python
/// @param getter a function of the object, or a pointer to a member function
/// @param setter a function of the object and the value, such as a tensor_span<float const>; or
/// nullptr, for a property without setter
/// @param extra as of def; they apply to both functions, unless nb::for_getter or nb::for_setter
/// encloses them. The docstring is that of the property
/// @throws nanobind::python_error when the class refuses the attribute
/// @par Thread and GIL
/// As def.
template <class T, class... Options, class Getter, class Setter, class... Extra>
void def_property(::nanobind::class_<T, Options...>& scope, char const* name, Getter&& getter,
                  Setter&& setter, Extra const&... extra);
/// Binds a property without setter, as def_property does.
template <class T, class... Options, class Getter, class... Extra>
void def_property_readonly(::nanobind::class_<T, Options...>& scope, char const* name,
                           Getter&& getter, Extra const&... extra) {
  def_property(scope, name, std::forward<Getter>(getter), nullptr, extra...);
}

DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/nanobind/def.inl>
