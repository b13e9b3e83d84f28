// raise_reasons: replaces the refusal of a call by a binding library, which names no argument, by
// the reasons of its overloads.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/detail/active_call.hpp>
#include <dlbridge/python/call/detail/function_record.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::binding {
/// The text of an exception by which pybind11 and nanobind refuse a call of a function, without
/// saying which argument they refused; empty for every other exception.
/// @pre The caller holds the GIL.
DLBRIDGE_COLD ref text_of_refusal(char const* function, PyObject* exception) noexcept;

/// One of the functions that a binding library tried.
struct candidate {
  ref signature;                  ///< a str
  function_record const* record;  ///< null for a function that def did not bind
};

/// Sets the TypeError of a call that every candidate refused. Candidates in a row with one reason
/// state it once, after the last of them.
/// @param name the name of the function
/// @return whether an exception is set: none is if the binding library alone knows the reason
/// @pre The caller holds the GIL.
DLBRIDGE_COLD bool raise_reasons(active_call& call, char const* name,
                                 std::vector<candidate> const& candidates);
}  // namespace python::binding
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/call/detail/explanation.ipp>
#endif
