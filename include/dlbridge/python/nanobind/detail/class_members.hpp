// constructed_class, make_accessor, make_setter and insert_property: bind C++ functions as nb::new_
// and as properties of a class.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/binding/as_function.hpp>
#include <dlbridge/python/call/binding/library_types.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/nanobind/detail/bind.hpp>
#include <dlbridge/python/nanobind/detail/bound_function.hpp>
#include <dlbridge/python/nanobind/detail/explanation.hpp>
#include <dlbridge/python/nanobind/detail/extras.hpp>
#include <dlbridge/python/nanobind/errors.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace on_nanobind {

// A parameter whose argument is not read, in place of one of type P; nb::args and nb::kwargs
// remain.
template <class P>
struct ignored {};
template <class P>
using ignored_as =
    std::conditional_t<std::is_same_v<std::decay_t<P>, nb::args> ||
                           std::is_same_v<std::decay_t<P>, nb::kwargs>,
                       std::decay_t<P>, ignored<binding::library_parameter<call_traits, P>>>;

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
  void def(char const* name, F&&, Extra const&... extra) {
    Class::def(name, ignoring(static_cast<nb::detail::function_signature_t<F>*>(nullptr)),
               passed_extra(extra)...);
  }

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
                         Extra const&... extra) {
  std::string const display_name = on_nanobind::name_of(bound) + "." + name + accessor;
  auto made = make_body(binding::as_function<Self>(std::forward<F>(function)), display_name.c_str(),
                        bound.ptr(), true, extra...);
  nb::object accessor_function =
      nb::cpp_function<Self>(std::move(made.body), nb::name(name), nb::is_method(),
                             nb::rv_policy::reference_internal, passed_extra(extra)...);
  made.record.function = accessor_function.ptr();  // which owns the record
  explain_refusals(accessor_function.ptr());
  return accessor_function;
}

template <class Self, class... Extra>
nb::object make_accessor(nb::handle, char const*, char const*, std::nullptr_t, Extra const&...) {
  return nb::none();
}

template <class Self, class F, class... Extra>
nb::object make_setter(nb::handle bound, char const* name, F&& function, Extra const&... extra) {
  if constexpr ((is_argument<Extra> || ...)) {
    return make_accessor<Self>(bound, name, ".setter", std::forward<F>(function), extra...);
  } else {
    return make_accessor<Self>(bound, name, ".setter", std::forward<F>(function), nb::arg("value"),
                               extra...);
  }
}

DLBRIDGE_COLD inline void insert_property(nb::handle bound, char const* name, nb::handle getter,
                                          nb::handle setter, char const* doc) {
  nb::handle const property(reinterpret_cast<PyObject*>(&PyProperty_Type));
  nb::setattr(bound, name, property(getter, setter, nb::none(), doc));
}

}  // namespace on_nanobind
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge

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
  using type =
      dlbridge::python::on_nanobind::ignored<typename remove_opt_mono<intrinsic_t<P>>::type>;
};
}  // namespace detail
}  // namespace nanobind DLBRIDGE_LOCAL
