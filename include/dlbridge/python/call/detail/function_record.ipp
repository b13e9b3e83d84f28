// The bodies of function_record.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/python/api.hpp>
#include <dlbridge/python/call/detail/function_record.hpp>
#include <dlbridge/python/error.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
DLBRIDGE_API void function_record::set_parameter_count(std::size_t count) {
  parameters = std::make_unique<parameter_record[]>(count);
  parameter_count = count;
}

DLBRIDGE_API char const* function_record::name_of(std::size_t i) const noexcept {
  return parameters[i].name.empty() ? nullptr : parameters[i].name.c_str();
}

DLBRIDGE_API void function_record::describe_parameter(std::size_t i, char const* parameter,
                                                      bool has_default, bool states_none) {
  parameters[i].name = parameter != nullptr ? parameter : "";
  parameters[i].has_default = has_default;
  if (states_none && parameters[i].refuses_none) {
    api<PyErr_Format>(PyExc_TypeError,
                      "dlbridge: the binding of %s() states that argument '%s' may be None, "
                      "which its type refuses. Write std::optional of the type",
                      name.c_str(), parameters[i].name.c_str());
    throw python_error();
  }
}

DLBRIDGE_API void record_list::add(function_record& record) {
  std::lock_guard<std::mutex> const guard(access_);
  record.older = std::exchange(newest_, &record);
}

DLBRIDGE_API void record_list::remove(function_record const& record) {
  std::lock_guard<std::mutex> const guard(access_);
  function_record** link = &newest_;
  while (*link != nullptr && *link != &record) {
    link = &(*link)->older;
  }
  if (*link != nullptr) {
    *link = record.older;
  }
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
