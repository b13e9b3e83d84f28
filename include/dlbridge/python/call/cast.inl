// The inline bodies of cast.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/call/cast.hpp>
#include <dlbridge/python/call/detail/argument_check.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
template <class P>
P cast(PyObject* object, char const* name, char const* function, bool convert) {
  static_assert(!detail::holds_span<P>::value,
                "dlbridge: cast imports owning tensors: tensor, argument, any_tensor, "
                "managed_tensor. No call keeps a tensor_span valid");
  static_assert(is_tensor_parameter<P> || is_container<P>,
                "dlbridge: cast imports a tensor, or a container of tensors that def converts");
  ref const kept = ref::borrow(object);  // the producer may remove it from where it is stored
  if (!names::prepare()) {
    throw python_error();
  }
  detail::loader_of<P> argument;
  if (argument.load(object, {convert}) == load_result::refused) {
    refusals reasons;
    detail::add_if_refused(reasons, argument, name, 0);
    reasons.set_error(function);
    throw python_error();
  }
  return argument.extract();
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
