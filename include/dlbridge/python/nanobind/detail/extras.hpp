// extras: which extra arguments of def are its own, guards, names of parameters or a docstring.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/detail/function_record.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/call/returns.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/nanobind/detail/private_names.hpp>
#include <dlbridge/python/nanobind/errors.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace on_nanobind {

// The extras of def that it applies itself: call_guard around the C++ function alone, and returns.
template <class... Extra>
struct guard_of {
  struct type {};
};
template <class... Guards, class... Others>
struct guard_of<nb::call_guard<Guards...>, Others...> {
  // gil_release for gil_scoped_release, whose destructor ends the process when CPython up to 3.13
  // unwinds a thread at its end.
  using type =
      typename nb::call_guard<std::conditional_t<std::is_same_v<Guards, nb::gil_scoped_release>,
                                                 gil_release, Guards>...>::type;
};
template <class Other, class... Others>
struct guard_of<Other, Others...> : guard_of<Others...> {};

template <class Extra>
constexpr bool is_guard = false;
template <class... Guards>
constexpr bool is_guard<nb::call_guard<Guards...>> = true;
template <class Extra>
constexpr bool is_releasing = false;
template <class... Guards>
constexpr bool is_releasing<nb::call_guard<Guards...>> =
    ((std::is_base_of_v<nb::gil_scoped_release, Guards> ||
      std::is_base_of_v<gil_release, Guards>) ||
     ...);

// Whether an extra is an nb::arg, and whether that has a default value.
template <class Extra, class = void>
constexpr bool is_argument = false;
template <class Extra>
constexpr bool is_argument<Extra, std::void_t<decltype(std::declval<Extra const&>().name_)>> = true;
template <class Extra, class = void>
constexpr bool has_default = false;
template <class Extra>
constexpr bool has_default<Extra, std::void_t<decltype(std::declval<Extra const&>().name_),
                                              decltype(std::declval<Extra const&>().value.ptr())>> =
    true;

// An extra as nanobind receives it, which passes over nullptr.
template <class Extra>
decltype(auto) passed_extra(Extra const& extra) {
  if constexpr (is_guard<Extra> || detail::is_own_extra<Extra>()) {
    return nullptr;
  } else {
    return (extra);
  }
}

// Whether a parameter that an nb::arg describes may be None.
template <class Extra>
bool states_none(Extra const& extra) {
  bool result = false;
  if constexpr (has_default<Extra>) {
    result = extra.value.is_none();
  }
  return result || accepts_none_by(extra);
}

// Writes what an extra states into the record. next: the parameter of the next name
template <class Extra>
void add_extra(function_record& record, std::size_t& next, Extra const& extra) {
  if constexpr (is_argument<Extra>) {
    if (next < record.parameter_count) {
      record.describe_parameter(next++, extra.name_, has_default<Extra>, states_none(extra));
    }
  } else if constexpr (std::is_same_v<Extra, nb::kw_only>) {
    record.positional = record.takes_args ? record.positional : next;
  } else if constexpr (std::is_same_v<Extra, nb::is_operator>) {
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
    if constexpr (std::is_convertible_v<decltype(each), char const*> &&
                  !std::is_null_pointer_v<std::decay_t<decltype(each)>>) {
      doc = each;
    }
  };
  (look(extra), ...);
  return doc;
}

}  // namespace on_nanobind
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
