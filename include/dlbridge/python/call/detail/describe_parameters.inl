// The inline bodies of describe_parameters.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>

#include <dlbridge/python/call/detail/describe_parameters.hpp>
#include <dlbridge/python/call/detail/element_kinds.hpp>
#include <dlbridge/python/call/detail/library_parameter.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::binding {
template <class Library, class A>
constexpr parameter_kind kind_of_parameter() noexcept {
  using plain = std::remove_cv_t<std::remove_reference_t<A>>;
  return std::is_same_v<plain, typename Library::args>     ? parameter_kind::args
         : std::is_same_v<plain, typename Library::kwargs> ? parameter_kind::kwargs
                                                           : parameter_kind::one;
}

template <class Library, class Result, class... Parameters>
void describe_parameters(function_record& record, Result (*)(Parameters...)) {
  parameter_record const all[] = {
      {kind_of_parameter<Library, Parameters>(),
       is_imported<Library, Parameters> && !accepts_none<std::decay_t<Parameters>>}...,
      {}};
  describe_parameters(record, all, sizeof...(Parameters));
}
}  // namespace python::binding
DLBRIDGE_END_NAMESPACE
