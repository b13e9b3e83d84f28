// dlbridge::def: binds a C++ function of tensors to a pybind11 module or class, with the extras of
// pybind11's def; and def_static, def_property, def_property_readonly.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/binding/as_function.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/pybind11/detail/insert_function.hpp>
#include <dlbridge/python/pybind11/detail/make_function.hpp>
#include <dlbridge/python/pybind11/errors.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {

namespace python {
namespace on_pybind11 {
// Adds a Python function to its module or class. The record of the function is never freed.
DLBRIDGE_COLD inline void insert(py::handle scope, char const* name, made_function made,
                                 binding_kind kind) {
  bound_record& record = *made.record.release();
  if (!insert_function(scope.ptr(), name, ref::steal(made.function.release().ptr()), record,
                       kind)) {
    throw_pending();
  }
}

// The class to which a pybind11 constructor, such as py::init<int>(), adds its function.
template <class Class>
struct constructed_class {
  using type = typename Class::type;
  using type_alias = typename Class::type_alias;
  using holder_type = typename Class::holder_type;
  static constexpr bool has_alias = Class::has_alias;

  template <class F, class... Extra>
  void def(char const* name, F&& function, Extra const&... extra) {
    py::str const class_name = bound.attr("__name__");
    // A constructor is called by the name of its class, in contrast to __setstate__.
    std::string const display_name =
        std::strcmp(name, "__init__") == 0 ? class_name : py::str(name);
    on_pybind11::insert(bound, name,
                        make_function(binding::as_function<type>(std::forward<F>(function)), name,
                                      display_name.c_str(), py::is_method(bound), extra...),
                        binding_kind::method);
  }

  Class& bound;
};

// An accessor of a property, whose messages name it "class.property.accessor"; or None.
template <class Class, class... Extra>
py::object make_accessor(Class&, char const*, char const*, std::nullptr_t, Extra const&...) {
  return py::none();
}
template <class Class, class F, class... Extra>
py::object make_accessor(Class& bound, char const* name, char const* accessor, F&& function,
                         Extra const&... extra) {
  std::string const class_name = py::str(bound.attr("__name__"));
  std::string const display_name = class_name + "." + name + accessor;
  made_function made =
      make_function(binding::as_function<typename Class::type>(std::forward<F>(function)), name,
                    display_name.c_str(), py::is_method(bound),
                    py::return_value_policy::reference_internal, extra...);
  static_cast<void>(made.record.release());  // the function refers to the record
  return std::move(made.function);
}

// The docstring among the extras, or "".
template <class... Extra>
char const* doc_of(Extra const&... extra) noexcept {
  char const* doc = "";
  [[maybe_unused]] auto const look = [&](auto const& each) {
    if constexpr (std::is_convertible_v<decltype(each), char const*>) {
      doc = each;
    } else if constexpr (std::is_same_v<std::decay_t<decltype(each)>, py::doc>) {
      doc = each.value;
    }
  };
  (look(extra), ...);
  return doc;
}

DLBRIDGE_COLD inline void insert_property(py::handle bound, char const* name, py::handle getter,
                                          py::handle setter, char const* doc) {
  py::handle const property(reinterpret_cast<PyObject*>(&PyProperty_Type));
  py::setattr(bound, name, property(getter, setter, py::none(), doc));
}
}  // namespace on_pybind11
}  // namespace python

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
/// @throws pybind11::error_already_set TypeError, when scope has an attribute of that name that def
/// did not bind
/// @par Thread and GIL
/// The caller holds the GIL. A call holds it while it converts arguments and results. A call_guard
/// applies to the C++ function alone, and may release the GIL if no parameter is a tensor_span.
template <class Scope, class F, class... Extra>
void def(Scope& scope, char const* name, F&& function, Extra const&... extra) {
  namespace pp = python::on_pybind11;
  if constexpr (std::is_base_of_v<pybind11::detail::generic_type, Scope>) {
    auto callee = python::binding::as_function<typename Scope::type>(std::forward<F>(function));
    pp::insert(
        scope, name,
        pp::make_function(std::move(callee), name, name, pybind11::is_method(scope), extra...),
        pp::binding_kind::method);
  } else {
    auto callee = python::binding::as_function<void>(std::forward<F>(function));
    pp::insert(scope, name,
               pp::make_function(std::move(callee), name, name, pybind11::scope(scope), extra...),
               pp::binding_kind::function);
  }
}

/// Binds a constructor whose parameters may be tensors: def(cls, py::init<tensor<float>, int>()),
/// or py::init with a factory function. A second one adds an overload.
/// @param scope the class_
/// @param constructor what py::init or py::init_alias returns
/// @param extra as of def
/// @throws pybind11::error_already_set as def
/// @par Thread and GIL
/// As def.
template <class Class, class Constructor, class... Extra>
auto def(Class& scope, Constructor&& constructor, Extra const&... extra)
    -> decltype(std::forward<Constructor>(constructor)
                    .execute(std::declval<python::on_pybind11::constructed_class<Class>&>(),
                             extra...),
                void()) {
  python::on_pybind11::constructed_class<Class> target{scope};
  std::forward<Constructor>(constructor).execute(target, extra...);
}

/// Binds a static method, as def does.
/// @param scope the class_
/// @param name the name in Python
/// @param function a function or a function object; it has no self
/// @param extra as of def
/// @throws pybind11::error_already_set as def
/// @par Thread and GIL
/// As def.
template <class Class, class F, class... Extra>
void def_static(Class& scope, char const* name, F&& function, Extra const&... extra) {
  namespace pp = python::on_pybind11;
  pp::insert(scope, name,
             pp::make_function(python::binding::as_function<void>(std::forward<F>(function)), name,
                               name, pybind11::scope(scope), extra...),
             pp::binding_kind::static_method);
}

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
                  Extra const&... extra) {
  namespace pp = python::on_pybind11;
  pp::insert_property(scope, name,
                      pp::make_accessor(scope, name, "", std::forward<Getter>(getter), extra...),
                      pp::make_accessor(scope, name, ".setter", std::forward<Setter>(setter),
                                        pybind11::arg("value"), extra...),
                      pp::doc_of(extra...));
}
/// The same, for a property without setter.
template <class Class, class Getter, class... Extra>
void def_property_readonly(Class& scope, char const* name, Getter&& getter, Extra const&... extra) {
  def_property(scope, name, std::forward<Getter>(getter), nullptr, extra...);
}

}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
