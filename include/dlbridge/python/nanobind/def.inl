// The inline bodies of def.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>

#include <dlbridge/python/nanobind/def.hpp>
#include <dlbridge/python/nanobind/detail/extras.inl>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

template <class T, class... Options, class... Parameters, class... Extra>
void def(::nanobind::class_<T, Options...>& scope, ::nanobind::init<Parameters...>,
         Extra const&... extra) {
  using alias = typename ::nanobind::class_<T, Options...>::Alias;
  return def(
      scope, "__init__",
      [](::nanobind::pointer_and_handle<T> self, Parameters... values) {
        // As nanobind does, the alias for objects of Python's subclasses alone.
        if constexpr (!std::is_same_v<T, alias> && std::is_constructible_v<T, Parameters...>) {
          if (!python::on_nanobind::is_derived_in_python(self.h.ptr())) {
            ::new (static_cast<void*>(self.p)) T(std::forward<Parameters>(values)...);
            return;
          }
        }
        if constexpr (std::is_constructible_v<alias, Parameters...>) {
          ::new (static_cast<void*>(self.p)) alias(std::forward<Parameters>(values)...);
        } else {
          ::new (static_cast<void*>(self.p)) alias{std::forward<Parameters>(values)...};
        }
      },
      extra...);
}

template <class T, class... Options, class F, class Signature, class... Extra>
void def(::nanobind::class_<T, Options...>& scope, ::nanobind::new_<F, Signature> constructor,
         Extra const&... extra) {
  python::on_nanobind::constructed_class<::nanobind::class_<T, Options...>> target(scope);
  constructor.execute(target, extra...);
}

template <class T, class... Options, class Getter, class Setter, class... Extra>
void def_property(::nanobind::class_<T, Options...>& scope, char const* name, Getter&& getter,
                  Setter&& setter, Extra const&... extra) {
  namespace pn = python::on_nanobind;
  pn::insert_property(
      scope, name,
      pn::make_accessor<T>(scope, name, "", std::forward<Getter>(getter), ::nanobind::is_getter(),
                           pn::of_getter(extra)...),
      pn::make_setter<T>(scope, name, std::forward<Setter>(setter), pn::of_setter(extra)...),
      pn::doc_of(pn::of_getter(extra)...));
}

DLBRIDGE_END_NAMESPACE
