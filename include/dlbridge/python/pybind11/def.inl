// The inline bodies of def.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>

#include <dlbridge/python/call/detail/as_function.inl>
#include <dlbridge/python/pybind11/def.hpp>
#include <dlbridge/python/pybind11/detail/extras.inl>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

template <class Scope, class F, class... Extra>
void def(Scope& scope, char const* name, F&& function, Extra const&... extra) {
  namespace pp = python::on_pybind11;
  if constexpr (!std::is_base_of_v<pybind11::module_, Scope>) {
    pp::bind(scope, name,
             python::binding::as_function<typename Scope::type>(std::forward<F>(function)), name,
             pybind11::is_method(scope), extra...);
  } else {
    pp::bind(scope, name, python::binding::as_function<void>(std::forward<F>(function)), name,
             pybind11::scope(scope), extra...);
  }
}

template <class Class, class Constructor, class... Extra>
python::on_pybind11::if_constructor<Class, Constructor, Extra...> def(Class& scope,
                                                                      Constructor&& constructor,
                                                                      Extra const&... extra) {
  python::on_pybind11::constructed_class<Class> target{scope};
  std::forward<Constructor>(constructor).execute(target, extra...);
}

template <class Class, class F, class... Extra>
void def_static(Class& scope, char const* name, F&& function, Extra const&... extra) {
  namespace pp = python::on_pybind11;
  scope.attr(name) = pybind11::staticmethod(
      pp::make_function(python::binding::as_function<void>(std::forward<F>(function)), name, name,
                        pp::sibling_in(scope, name), pybind11::scope(scope), extra...));
}

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

DLBRIDGE_END_NAMESPACE
