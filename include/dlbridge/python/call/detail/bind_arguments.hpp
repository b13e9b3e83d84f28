// bind_arguments: assigns the arguments of a call to the parameters of a function, or says why they
// are not one for each.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/detail/active_call.hpp>
#include <dlbridge/python/call/detail/function_record.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
/// Assigns the arguments of a call to the parameters.
/// @param bound receives a borrowed reference for each parameter; null for one that keeps its
/// default, and for args and kwargs
/// @param why receives the reason as a text such as "takes 1 argument, not 2", or an empty ref with
/// a Python exception set
/// @return whether each parameter has an argument or a default
/// @pre The caller holds the GIL.
DLBRIDGE_COLD bool bind_arguments(function_record const& record, call_arguments const& call,
                                  PyObject** bound, ref& why) noexcept;
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/detail/bind_arguments.ipp>
#endif
