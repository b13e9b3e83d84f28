// bind_arguments: assigns the arguments of a call to the parameters of a function, or says why they
// are not one for each.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/python/call/detail/active_call.hpp>
#include <dlbridge/python/call/detail/function_record.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/ref.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {

/// @return the first parameter with a name, or the number of parameters
inline std::size_t find_parameter(function_record const& record, PyObject* name) noexcept {
  std::size_t i = 0;
  while (i < record.parameter_count && (record.parameters[i].kind != parameter_kind::one ||
                                        !is_text(name, record.parameters[i].name.c_str()))) {
    ++i;
  }
  return i;
}

/// Assigns the arguments of a call to the parameters.
/// @param bound receives a borrowed reference for each parameter; null for one that keeps its
/// default, and for args and kwargs
/// @param why receives the reason as a text such as "takes 1 argument, not 2", or an empty ref with
/// a Python exception set
/// @return whether each parameter has an argument or a default
/// @par Thread and GIL
/// The caller holds the GIL.
DLBRIDGE_COLD inline bool bind_arguments(function_record const& record, call_arguments const& call,
                                         PyObject** bound, ref& why) noexcept {
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
  Py_ssize_t const keyword_count = call.keywords != nullptr ? PyTuple_GET_SIZE(call.keywords) : 0;
  for (Py_ssize_t k = 0; k < keyword_count; ++k) {
    PyObject* const name = PyTuple_GET_ITEM(call.keywords, k);
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

}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
