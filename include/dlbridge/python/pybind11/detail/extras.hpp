// extras: which extra arguments of def are its own, guards, names of parameters or a docstring.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <type_traits>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/detail/describe_parameters.hpp>
#include <dlbridge/python/call/detail/function_record.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/call/returns.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/pybind11/errors.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace on_pybind11 {

// The extras of def that it applies itself: call_guard around the C++ function alone, and returns.
template <class... Extra>
struct guard_of {
  struct type {};
};
template <class... Guards, class... Others>
struct guard_of<py::call_guard<Guards...>, Others...> {
  // gil_release for gil_scoped_release, whose destructor ends the process when CPython up to 3.13
  // unwinds a thread at its end.
  using type =
      typename py::call_guard<std::conditional_t<std::is_same_v<Guards, py::gil_scoped_release>,
                                                 gil_release, Guards>...>::type;
};
template <class Other, class... Others>
struct guard_of<Other, Others...> : guard_of<Others...> {};

template <class Extra>
constexpr bool is_guard = false;
template <class... Guards>
constexpr bool is_guard<py::call_guard<Guards...>> = true;
template <class Extra>
constexpr bool is_releasing = false;
template <class... Guards>
constexpr bool is_releasing<py::call_guard<Guards...>> =
    ((std::is_base_of_v<py::gil_scoped_release, Guards> ||
      std::is_base_of_v<gil_release, Guards>) ||
     ...);

// An extra as pybind11 receives it; in place of one that def applies itself, the name once more.
template <class Extra>
decltype(auto) passed_extra([[maybe_unused]] char const* name, Extra const& extra) {
  if constexpr (is_guard<Extra> || detail::is_own_extra<Extra>()) {
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
    next = binding::next_parameter(record, next, true);
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
  } else if constexpr (std::is_same_v<Extra, returns>) {
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

}  // namespace on_pybind11
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
