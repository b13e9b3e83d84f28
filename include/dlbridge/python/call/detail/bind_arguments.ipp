// The bodies of bind_arguments.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>

#include <dlbridge/python/api.hpp>
#include <dlbridge/python/call/detail/bind_arguments.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/detail/read_values.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
/// @return the first parameter with a name, or the number of parameters
inline std::size_t find_parameter(function_record const& record, PyObject* name) noexcept {
  std::size_t i = 0;
  while (i < record.parameter_count && (record.parameters[i].kind != parameter_kind::one ||
                                        !is_text(name, record.parameters[i].name.c_str()))) {
    ++i;
  }
  return i;
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool bind_arguments(function_record const& record,
                                                   call_arguments const& call, PyObject** bound,
                                                   ref& why) noexcept {
  std::size_t const size = record.parameter_count;
  if (call.count > record.positional && !record.takes_args) {
    std::size_t const self = record.is_method ? 1 : 0;
    std::size_t const limit = record.positional - self;
    bool const has_keyword_only = record.positional < size - (record.takes_kwargs ? 1 : 0);
    why = ref::steal(api<PyUnicode_FromFormat>("takes %zu %sargument%s, not %zu", limit,
                                               has_keyword_only ? "positional " : "",
                                               limit == 1 ? "" : "s", call.count - self));
    return false;
  }
  for (std::size_t i = 0; i < size; ++i) {
    bound[i] = i < (std::min)(call.count, record.positional) ? call.values[i] : nullptr;
  }
  Py_ssize_t const keyword_count = call.keywords != nullptr ? detail::tuple_size(call.keywords) : 0;
  for (Py_ssize_t k = 0; k < keyword_count; ++k) {
    PyObject* const name = detail::tuple_item(call.keywords, k);
    std::size_t const i = find_parameter(record, name);
    if (i == size && record.takes_kwargs) {
      continue;
    }
    if (i == size || i < record.positional_only || bound[i] != nullptr) {
      why = ref::steal(api<PyUnicode_FromFormat>(i == size ? "got an unexpected keyword argument %R"
                                                 : i < record.positional_only
                                                     ? "takes argument %R by position only"
                                                     : "got several values for argument %R",
                                                 name));
      return false;
    }
    bound[i] = call.values[call.count + static_cast<std::size_t>(k)];
  }
  for (std::size_t i = 0; i < size; ++i) {
    parameter_record const& parameter = record.parameters[i];
    if (bound[i] == nullptr && parameter.kind == parameter_kind::one && !parameter.has_default) {
      why = ref::steal(
          parameter.name.empty()
              ? api<PyUnicode_FromFormat>("is missing argument %d", record.position(i))
              : api<PyUnicode_FromFormat>("is missing argument '%s'", parameter.name.c_str()));
      return false;
    }
  }
  return true;
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
