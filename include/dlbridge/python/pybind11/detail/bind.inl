// The inline bodies of bind.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include <dlbridge/python/call/detail/as_function.inl>
#include <dlbridge/python/call/detail/bound_function.inl>
#include <dlbridge/python/call/detail/describe_parameters.hpp>
#include <dlbridge/python/call/detail/signature_rules.inl>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/pybind11/detail/bind.hpp>
#include <dlbridge/python/pybind11/detail/extras.inl>
#include <dlbridge/python/pybind11/detail/library.inl>
#include <dlbridge/python/pybind11/detail/python_function.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_pybind11 {
// The class to which a pybind11 constructor, such as py::init<int>(), adds its function.
template <class Class>
struct constructed_class {
  using type = typename Class::type;
  using type_alias = typename Class::type_alias;
  using holder_type = typename Class::holder_type;
  static constexpr bool has_alias = Class::has_alias;

  template <class F, class... Extra>
  void def(char const* name, F&& function, Extra const&... extra);

  Class& bound;
};

// Adds a function to a module or class.
void add_attribute(py::handle scope, char const* name, py::object function);

template <class Callee, class... Extra>
py::object make_function(Callee callee, char const* name, std::string const& display_name,
                         py::handle sibling, Extra const&... extra) {
  using signature = typename binding::call_signature<Callee>::signature;
  binding::require_signature<library, (guard_traits<Extra>::releases_gil || ...), signature>();
  auto owner = std::make_unique<python_function>(display_name.c_str());
  python_function& record = *owner;
  if (!names::prepare()) {
    throw_pending();
  }
  record.is_method = (std::is_same_v<Extra, py::is_method> || ...);
  binding::describe_parameters<library>(record, static_cast<signature*>(nullptr));
  [[maybe_unused]] std::size_t next = record.is_method ? 1 : 0;
  throwing_pending([&] { (add_extra(record, next, extra), ...); });
  using function = binding::bound_function<library, Callee, guard_of<Extra...>,
                                           result_place<Extra...>, signature>;
  py::object made = py::cpp_function(function(std::move(callee), std::move(owner)), py::name(name),
                                     py::sibling(sibling), passed_extra(name, extra)...);
  return make_python_function(std::move(made), name, record,
                              (std::is_same_v<Extra, py::prepend> || ...));
}

template <class Scope, class Callee, class... Extra>
void bind(Scope& scope, char const* name, Callee callee, std::string const& display_name,
          Extra const&... extra) {
  // Here as well: compilers then print one line less for a function that does not fit.
  using signature = typename binding::call_signature<Callee>::signature;
  binding::require_signature<library, (guard_traits<Extra>::releases_gil || ...), signature>();
  add_attribute(
      scope, name,
      make_function(std::move(callee), name, display_name, sibling_in(scope, name), extra...));
}

template <class Class>
template <class F, class... Extra>
inline void constructed_class<Class>::def(char const* name, F&& function, Extra const&... extra) {
  // A constructor is called by the name of its class, in contrast to __setstate__.
  bool const is_constructor = std::strcmp(name, "__init__") == 0;
  std::string const display_name =
      is_constructor ? std::string(py::str(bound.attr("__name__"))) : name;
  on_pybind11::bind(bound, name, binding::as_function<type>(std::forward<F>(function)),
                    display_name, py::is_method(bound), extra...);
}

template <class Class, class F, class... Extra>
py::object make_accessor(Class& bound, char const* name, char const* accessor, F&& function,
                         Extra const&... extra) {
  std::string const class_name = py::str(bound.attr("__name__"));
  return make_function(binding::as_function<typename Class::type>(std::forward<F>(function)), name,
                       class_name + "." + name + accessor, py::none(), py::is_method(bound),
                       py::return_value_policy::reference_internal, extra...);
}
}  // namespace python::on_pybind11
DLBRIDGE_END_NAMESPACE

namespace pybind11 DLBRIDGE_LOCAL {
namespace detail {
template <dlbridge::library_id... Id>
struct process_attribute<dlbridge::returns<Id...>> {
  template <class Record>
  static void init(dlbridge::returns<Id...> const&, Record*);
};

template <dlbridge::library_id... Id>
template <class Record>
inline void process_attribute<dlbridge::returns<Id...>>::init(dlbridge::returns<Id...> const&,
                                                              Record*) {
  static_assert(sizeof(Record) == 0,
                "dlbridge: returns is an extra of dlbridge::def, def_static, def_property and "
                "def_property_readonly. Bind this function with one of them");
}
}  // namespace detail
}  // namespace pybind11 DLBRIDGE_LOCAL
