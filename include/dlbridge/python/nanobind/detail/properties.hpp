// make_accessor, make_setter and insert_property: bind C++ functions as the property of a class.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <string>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/binding/as_function.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/nanobind/detail/bind.hpp>
#include <dlbridge/python/nanobind/detail/explanation.hpp>
#include <dlbridge/python/nanobind/detail/extras.hpp>
#include <dlbridge/python/nanobind/errors.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace on_nanobind {

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
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
