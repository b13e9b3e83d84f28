// extras: which extra arguments of def are its own, guards, names of parameters or a docstring.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/detail/call_guards.inl>
#include <dlbridge/python/call/detail/function_record.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/call/returns.hpp>
#include <dlbridge/python/nanobind/detail/private_names.hpp>
#include <dlbridge/python/nanobind/errors.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::on_nanobind {
template <class... Extra>
using guard_of = typename binding::guard_of<nb::call_guard, nb::gil_scoped_release, Extra...>::type;
template <class Extra>
using guard_traits = binding::guard_traits<nb::call_guard, nb::gil_scoped_release, Extra>;

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
  if constexpr (guard_traits<Extra>::is_guard || detail::is_own_extra<Extra>()) {
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
  } else if constexpr (std::is_base_of_v<result_choice, Extra>) {
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
}  // namespace python::on_nanobind
DLBRIDGE_END_NAMESPACE
