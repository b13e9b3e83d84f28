// The names of nanobind that its documentation does not promise; no other header names them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <type_traits>

#include <dlbridge/abi.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_nanobind {
namespace nb = ::nanobind;

template <class T>
using caster_of = nb::detail::make_caster<T>;
template <class T>
using cast_type = nb::detail::cast_t<T>;
// Whether a caster is that of a bound class.
template <class Caster>
constexpr bool is_class_caster = nb::detail::is_base_caster_v<Caster>;

// nanobind's compile-time string.
template <char... Characters>
constexpr auto make_text() {
  return nb::detail::descr<sizeof...(Characters)>(Characters...);
}
template <std::size_t Size>
constexpr auto make_text(char const (&literal)[Size]) {
  return nb::detail::const_name(literal);
}

// The objects that a call owns.
using call_objects = nb::detail::cleanup_list;

template <class Flags>  // uint32_t, or uint8_t before nanobind 3
constexpr bool may_convert(Flags flags) noexcept {
  return (flags & static_cast<Flags>(nb::detail::cast_flags::convert)) != 0;
}
// Whether nb::cast converts, outside a call.
template <class Flags>
constexpr bool is_outside_call(Flags flags) noexcept {
  return (flags & static_cast<Flags>(nb::detail::cast_flags::manual)) != 0;
}
// Whether an nb::arg states that the argument may be None.
template <class Argument>
constexpr bool accepts_none_by([[maybe_unused]] Argument const& argument) noexcept {
#if NB_VERSION_MAJOR >= 3
  return (nb::detail::arg_traits<Argument>::flags & nb::detail::cast_flags::accepts_none) != 0;
#else
  return argument.none_;
#endif
}

// The extras that apply to one accessor of a property.
template <class Extra>
decltype(auto) of_getter(Extra const& extra) {
  return nb::detail::filter_getter(extra);
}
template <class Extra>
decltype(auto) of_setter(Extra const& extra) {
  return nb::detail::filter_setter(extra);
}
// Whether an object is that of a subclass which Python code defines.
inline bool is_derived_in_python(PyObject* object) noexcept {
#if NB_VERSION_MAJOR >= 3
  return nb::inst_python_derived(object);
#else
  return nb::detail::nb_inst_python_derived(object);
#endif
}
}  // namespace python::on_nanobind
DLBRIDGE_END_NAMESPACE
