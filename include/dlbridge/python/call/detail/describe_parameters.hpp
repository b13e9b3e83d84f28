// describe_parameters: writes what the types of the parameters of a C++ function state into its
// record.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <type_traits>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/detail/element_kinds.hpp>
#include <dlbridge/python/call/detail/function_record.hpp>
#include <dlbridge/python/call/detail/parameter_types.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace binding {

template <class Library, class A>
constexpr parameter_kind kind_of_parameter() noexcept {
  using plain = std::remove_cv_t<std::remove_reference_t<A>>;
  return std::is_same_v<plain, typename Library::args>     ? parameter_kind::args
         : std::is_same_v<plain, typename Library::kwargs> ? parameter_kind::kwargs
                                                           : parameter_kind::one;
}

DLBRIDGE_COLD inline void describe_parameters(function_record& record, parameter_record const* all,
                                              std::size_t count) {
  record.set_parameter_count(count);
  record.positional = count;
  for (std::size_t i = count; i-- > 0;) {
    record.parameters[i] = all[i];
    record.takes_args |= all[i].kind == parameter_kind::args;
    record.takes_kwargs |= all[i].kind == parameter_kind::kwargs;
    record.positional = all[i].kind != parameter_kind::one ? i : record.positional;
  }
  if (record.is_method && count != 0) {
    record.parameters[0].name = "self";
  }
}

/// @param record the record, whose is_method is known
template <class Library, class Result, class... Parameters>
void describe_parameters(function_record& record, Result (*)(Parameters...)) {
  parameter_record const all[] = {
      {kind_of_parameter<Library, Parameters>(),
       is_imported<Library, Parameters> && !accepts_none<std::decay_t<Parameters>>}...,
      {}};
  describe_parameters(record, all, sizeof...(Parameters));
}

}  // namespace binding
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
