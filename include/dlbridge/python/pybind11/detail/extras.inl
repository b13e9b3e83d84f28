// extras: which extra arguments of def are its own, guards, names of parameters or a docstring.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <type_traits>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/detail/call_guards.inl>
#include <dlbridge/python/call/detail/function_record.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/call/returns.hpp>
#include <dlbridge/python/pybind11/errors.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_pybind11 {
template <class... Extra>
using guard_of = typename binding::guard_of<py::call_guard, py::gil_scoped_release, Extra...>::type;
template <class Extra>
using guard_traits = binding::guard_traits<py::call_guard, py::gil_scoped_release, Extra>;

// An extra as pybind11 receives it; in place of one that def applies itself, the name once more.
template <class Extra>
decltype(auto) passed_extra([[maybe_unused]] char const* name, Extra const& extra) {
  if constexpr (guard_traits<Extra>::is_guard || detail::is_own_extra<Extra>()) {
    return py::name(name);
  } else {
    return (extra);
  }
}

// Writes what an extra states into the record. next: the parameter of the next name
template <class Extra>
void add_extra(function_record& record, std::size_t& next, Extra const& extra) {
  static_assert(!std::is_same_v<Extra, py::sibling>,
                "dlbridge: def finds the other overloads of a name itself. Leave py::sibling out");
  if constexpr (std::is_base_of_v<py::arg, Extra>) {
    while (next < record.parameter_count && record.parameters[next].kind != parameter_kind::one) {
      ++next;  // args and kwargs take no name
    }
    if (next < record.parameter_count) {
      bool states_none = false;
      if constexpr (std::is_same_v<Extra, py::arg_v>) {
        states_none = extra.value.is_none();
      }
      record.describe_parameter(next++, extra.name, std::is_same_v<Extra, py::arg_v>, states_none);
    }
  } else if constexpr (std::is_same_v<Extra, py::kw_only>) {
    record.positional = record.takes_args ? record.positional : next;
  } else if constexpr (std::is_same_v<Extra, py::pos_only>) {
    record.positional_only = next;
  } else if constexpr (std::is_same_v<Extra, py::is_operator>) {
    record.is_operator = true;
  } else if constexpr (std::is_base_of_v<result_choice, Extra>) {
    record.results.add(extra);
  }
}

// The docstring among the extras, or "".
template <class... Extra>
char const* doc_of(Extra const&... extra) noexcept {
  char const* doc = "";
  [[maybe_unused]] auto const look = [&](auto const& each) {
    if constexpr (std::is_convertible_v<decltype(each), char const*>) {
      doc = each;
    } else if constexpr (std::is_same_v<std::decay_t<decltype(each)>, py::doc>) {
      doc = each.value;
    }
  };
  (look(extra), ...);
  return doc;
}
}  // namespace python::on_pybind11
DLBRIDGE_END_NAMESPACE
