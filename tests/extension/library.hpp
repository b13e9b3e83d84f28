// The binding library for which a source file is compiled, nanobind with WITH_NANOBIND and pybind11
// without, under the names of pybind11.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#if defined(WITH_NANOBIND)
#include <dlbridge/nanobind.hpp>

#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace py {
using namespace nanobind;
using error_already_set = nanobind::python_error;
using return_value_policy = nanobind::rv_policy;
using function = nanobind::callable;
using procedure = nanobind::callable;
template <class T>
using shared_class = nanobind::class_<T>;
inline type_slots buffer_protocol() {
  static PyType_Slot const slots[] = {dlbridge::python::buffer_slot(), {0, nullptr}};
  return type_slots(slots);
}
inline module_ import_module(char const* name) { return module_::import_(name); }
template <class T>
T reinterpret_steal(nanobind::handle x) {
  return nanobind::steal<T>(x);
}
template <class Key, class Value>
using dict_of = nanobind::typed<nanobind::dict, Key, Value>;
template <class Class, class Getter>
void property_readonly(Class& bound, char const* name, Getter getter) {
  bound.def_prop_ro(name, getter);
}
}  // namespace py
#else
#include <dlbridge/pybind11.hpp>

#include <pybind11/typing.h>

#include <memory>

namespace pybind11 {
using procedure = typing::Callable<void()>;
template <class T>
using shared_class = class_<T, std::shared_ptr<T> >;  // which nanobind does without
inline module_ import_module(char const* name) { return module_::import(name); }
template <class Key, class Value>
using dict_of = typing::Dict<Key, Value>;
template <class Class, class Getter>
void property_readonly(Class& bound, char const* name, Getter getter) {
  bound.def_property_readonly(name, getter);
}
}  // namespace pybind11
namespace py = pybind11;
#endif
