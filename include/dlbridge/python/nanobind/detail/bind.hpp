// bind: makes the Python function of a C++ function of tensors, with the extras of nanobind's def,
// and adds it to its module or class.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/detail/library_parameter.hpp>
#include <dlbridge/python/nanobind/detail/library.hpp>
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

// A parameter whose argument is not read, in place of one of type P; nb::args and nb::kwargs
// remain.
template <class P>
struct ignored {};
template <class P>
using ignored_as = std::conditional_t<
    std::is_same_v<std::decay_t<P>, nb::args> || std::is_same_v<std::decay_t<P>, nb::kwargs>,
    std::decay_t<P>, ignored<std::decay_t<binding::library_parameter<library, P>>>>;

/// The class to which nb::new_ adds its functions.
template <class Class>
class constructed_class : public Class {
 public:
  explicit constructed_class(Class const& bound) : Class(bound) {}

  template <class F, class... Extra>
  void def_static(char const* name, F&& function, Extra const&... extra) {
    bind<void>(*this, name, std::forward<F>(function), extra...);
  }
  // Python calls __init__ with the arguments of __new__, which has read them. From the parameters
  // of this __init__ nanobind learns whether the class can be called without an argument.
  template <class F, class... Extra>
  void def(char const* name, F&&, Extra const&... extra);

 private:
  template <class Self, class... Parameters>
  static auto ignoring(void (*)(Self, Parameters...)) {
    return [](nb::handle, ignored_as<Parameters>...) {};
  }
};

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

DLBRIDGE_COLD inline void insert_property(nb::handle bound, char const* name, nb::handle getter,
                                          nb::handle setter, char const* doc) {
  nb::handle const property(reinterpret_cast<PyObject*>(&PyProperty_Type));
  nb::setattr(bound, name, property(getter, setter, nb::none(), doc));
}
}  // namespace python::on_nanobind
DLBRIDGE_END_NAMESPACE

namespace nanobind DLBRIDGE_LOCAL {
namespace detail {
template <class P>
struct type_caster<dlbridge::python::on_nanobind::ignored<P>> {
  using ignored = dlbridge::python::on_nanobind::ignored<P>;
  NB_TYPE_CASTER(ignored, make_caster<P>::Name)
  static constexpr bool has_arg_defaults() { return true; }  // accepts None
  bool from_python(handle, std::uint32_t, cleanup_list*) noexcept { return true; }
};
template <class P>
struct remove_opt_mono<dlbridge::python::on_nanobind::ignored<P>> {
  using type = dlbridge::python::on_nanobind::ignored<typename remove_opt_mono<P>::type>;
};
}  // namespace detail
}  // namespace nanobind DLBRIDGE_LOCAL

#include <dlbridge/python/nanobind/detail/bind.inl>
