// describe_parameters: writes what the types of the parameters of a C++ function state into its
// record.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/detail/function_record.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::binding {
DLBRIDGE_COLD void describe_parameters(function_record& record, parameter_record const* all,
                                       std::size_t count);

/// @param record the record, whose is_method is known
template <class Library, class Result, class... Parameters>
DLBRIDGE_NOINLINE void describe_parameters(function_record& record, Result (*)(Parameters...));
}  // namespace python::binding
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/call/detail/describe_parameters.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/detail/describe_parameters.ipp>
#endif
