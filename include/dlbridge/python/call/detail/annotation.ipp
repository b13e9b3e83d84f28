// The bodies of annotation.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/call/detail/annotation.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
DLBRIDGE_NOINLINE DLBRIDGE_API std::string signature_of(function_record const& record,
                                                        signature_annotations const& annotations) {
  std::string text = record.name + "(";
  for (std::size_t i = 0; i < annotations.count; ++i) {
    text.append(i == 0 ? "" : ", ").append(record.parameters[i].name).append(": ");
    text.append(annotations.all[i]);
  }
  return text.append(") -> ").append(annotations.all[annotations.count]);
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
