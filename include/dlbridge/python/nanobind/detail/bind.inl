// The inline bodies of bind.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include <dlbridge/python/api.hpp>
#include <dlbridge/python/call/detail/as_function.inl>
#include <dlbridge/python/call/detail/bound_function.inl>
#include <dlbridge/python/call/detail/describe_parameters.hpp>
#include <dlbridge/python/call/detail/library_parameter.hpp>
#include <dlbridge/python/call/detail/signature_rules.inl>
#include <dlbridge/python/call/detail/typing_names.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/nanobind/detail/bind.hpp>
#include <dlbridge/python/nanobind/detail/extras.inl>
#include <dlbridge/python/nanobind/detail/library.inl>
#include <dlbridge/python/nanobind/detail/python_function.inl>
#include <dlbridge/python/nanobind/errors.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_nanobind {
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

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_nanobind {
// The function object that nanobind binds, and its record, which the object owns.
template <class Body>
struct made_body {
  Body body;
  python_function& record;
};

// display_name: the name in messages
template <class Callee, class... Extra>
auto make_body(Callee callee, std::string const& display_name, bool is_method,
               Extra const&... extra) {
  using signature = typename binding::call_signature<Callee>::signature;
  binding::require_signature<library, (guard_traits<Extra>::releases_gil || ...), signature>();
  auto owner = std::make_unique<python_function>(display_name.c_str());
  python_function& record = *owner;
  if (!python::names::prepare()) {
    throw_pending();
  }
  record.is_method = is_method;
  binding::describe_parameters<library>(record, static_cast<signature*>(nullptr));
  constexpr std::size_t named = (std::size_t{is_argument<Extra>} + ... + 0);
  [[maybe_unused]] std::size_t next = is_method && named < record.parameter_count ? 1 : 0;
  throwing_pending([&] { (add_extra(record, next, extra), ...); });
  using function = binding::bound_function<library, Callee, guard_of<Extra...>,
                                           result_place<Extra...>, signature>;
  python_function::records().add(record);
  return made_body<function>{function(std::move(callee), std::move(owner)), record};
}

ref attribute(PyObject* scope, char const* name) {
  ref value = optional_attribute(scope, name);
  if (PyErr_Occurred() != nullptr) {
    throw_pending();
  }
  return value;
}

// Throws TypeError for an attribute to which nanobind can add no overload: it would end the
// process.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline void require_overloadable(PyObject* scope,
                                                                 PyObject* existing,
                                                                 char const* name, bool is_method) {
  if (!signatures_of(existing)) {
    if (*name != '_') {
      api<PyErr_Format>(PyExc_TypeError,
                        "%s exists already and is no function of nanobind, to which "
                        "dlbridge::def could add an overload",
                        name);
      throw_pending();
    }
  } else if (detail::has_descr_get(Py_TYPE(existing)) != is_method) {  // of methods only
    constexpr char const* kinds[] = {"a static", "an instance"};
    api<PyErr_Format>(PyExc_TypeError,
                      "%R has %s method %s already, so that %s cannot be %s method too", scope,
                      kinds[is_method ? 0 : 1], name, name, kinds[is_method ? 1 : 0]);
    throw_pending();
  }
}

template <class Self, class Scope, class F, class... Extra>
void bind(Scope& scope, char const* name, F&& function, Extra const&... extra) {
  ref const existing = attribute(scope.ptr(), name);
  if (!add_typing_names(scope.ptr())) {
    throw_pending();
  }
  if (existing) {
    require_overloadable(scope.ptr(), existing.get(), name, !std::is_void_v<Self>);
  }
  bool const is_new = std::strcmp(name, "__new__") == 0;  // messages do not count the class
  bool const is_constructor = is_new || std::strcmp(name, "__init__") == 0;
  auto made = make_body(binding::as_function<Self>(std::forward<F>(function)),
                        is_constructor ? on_nanobind::name_of(scope) : std::string(name),
                        is_new || !std::is_void_v<Self>, extra...);
  if constexpr (std::is_void_v<Self>) {
    nb::cpp_function_def(std::move(made.body), nb::scope(scope), nb::name(name),
                         passed_extra(extra)...);
  } else {
    nb::cpp_function_def<Self>(std::move(made.body), nb::scope(scope), nb::name(name),
                               nb::is_method(), passed_extra(extra)...);
  }
  made.record.scope = scope.ptr();
  made.record.attribute = name;
  register_overload(made.record);
}

template <class Class>
template <class F, class... Extra>
inline void constructed_class<Class>::def(char const* name, F&&, Extra const&... extra) {
  using signature = typename binding::call_signature<std::decay_t<F>>::signature;
  Class::def(name, ignoring(static_cast<signature*>(nullptr)), passed_extra(extra)...);
}

template <class Self, class F, class... Extra>
nb::object make_accessor(nb::handle bound, char const* name, char const* accessor, F&& function,
                         Extra const&... extra) {
  auto made = make_body(binding::as_function<Self>(std::forward<F>(function)),
                        on_nanobind::name_of(bound) + "." + name + accessor, true, extra...);
  nb::object accessor_function =
      nb::cpp_function<Self>(std::move(made.body), nb::name(name), nb::is_method(),
                             nb::rv_policy::reference_internal, passed_extra(extra)...);
  made.record.function = accessor_function.ptr();  // which owns the record
  intercept_calls(accessor_function.ptr());
  return accessor_function;
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
}  // namespace python::on_nanobind
DLBRIDGE_END_NAMESPACE
