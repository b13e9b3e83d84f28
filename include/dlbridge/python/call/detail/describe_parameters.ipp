// The bodies of describe_parameters.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/call/detail/describe_parameters.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::binding {
DLBRIDGE_NOINLINE DLBRIDGE_API void describe_parameters(function_record& record,
                                                        parameter_record const* all,
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
}  // namespace python::binding
DLBRIDGE_END_NAMESPACE
