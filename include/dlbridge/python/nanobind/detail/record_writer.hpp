// write_record: writes what the extras and the parameter types of a function state into its record.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <memory>
#include <type_traits>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/binding/library_types.hpp>
#include <dlbridge/python/call/binding/mismatch.hpp>
#include <dlbridge/python/call/result.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/nanobind/detail/argument_checks.hpp>
#include <dlbridge/python/nanobind/detail/bound_function.hpp>
#include <dlbridge/python/nanobind/detail/bound_record.hpp>
#include <dlbridge/python/nanobind/detail/extras.hpp>
#include <dlbridge/python/nanobind/errors.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace on_nanobind {

template <class Result, class... Parameters>
class record_writer {
  static constexpr std::size_t count = sizeof...(Parameters);

 public:
  template <class... Extra>
  DLBRIDGE_LOCAL static void write(bound_record& record, Extra const&... extra) {
    static constexpr argument_check checks[] = {check_of<Parameters>()..., nullptr};
    static constexpr bool accepts_none[] = {
        nb::detail::has_arg_defaults_v<binding::library_parameter<call_traits, Parameters>>...,
        false};
    static constexpr bool is_tensor[] = {binding::is_imported<call_traits, Parameters>..., false};
    static constexpr bool is_args[] = {
        std::is_same_v<nb::detail::intrinsic_t<Parameters>, nb::args>..., true};
    record.parameter_count = count;
    record.has_kwargs = (std::is_same_v<nb::detail::intrinsic_t<Parameters>, nb::kwargs> || ...);
    record.parameters = std::make_unique<parameter_facts[]>(count + 1);
    std::size_t position = 0;
    while (!is_args[position]) {
      ++position;
    }
    record.has_args = position < count;
    record.positional = position - (record.has_kwargs && !record.has_args ? 1 : 0);
    for (std::size_t i = 0; i < count; ++i) {
      record.parameters[i] = {false, accepts_none[i], is_tensor[i], true, checks[i]};
    }
    if (record.is_method) {
      record.parameters[0] = {false, true, false, true, self_check<Parameters...>()};
    }
    constexpr std::size_t named = (std::size_t{is_argument<Extra>} + ... + 0);
    [[maybe_unused]] std::size_t next = record.is_method && named < count ? 1 : 0;
    (add_extra(record, next, extra), ...);
  }

 private:
  template <class Extra>
  static void add_extra(bound_record& record, std::size_t& next, Extra const& extra) {
    if constexpr (is_argument<Extra>) {
      if (!record.add_parameter(extra.name_)) {
        throw_pending();
      }
      if (next < count) {
        parameter_facts& facts = record.parameters[next++];
        bool states_none = allows_none(extra);
        if constexpr (has_default<Extra>) {
          facts.has_default = true;
          states_none |= extra.value.is_none();
        }
        if (states_none && facts.is_tensor && !facts.accepts_none) {
          detail::set_none_refused(record.name.c_str(), extra.name_);
          throw_pending();
        }
        facts.accepts_none |= states_none;
        facts.converts = converts(extra);
      }
    } else if constexpr (std::is_same_v<Extra, nb::kw_only>) {
      record.positional = record.has_args ? record.positional : next;
    } else if constexpr (std::is_same_v<Extra, nb::is_operator>) {
      record.is_operator = true;
    } else if constexpr (std::is_same_v<Extra, returns>) {
      record.results.add(extra);
    }
  }
  template <class Extra>
  static bool allows_none(Extra const& extra) noexcept {
#if NB_VERSION_MAJOR >= 3
    static_cast<void>(extra);
    return (nb::detail::arg_traits<Extra>::flags & nb::detail::cast_flags::accepts_none) != 0;
#else
    return extra.none_;
#endif
  }
  template <class Extra>
  static bool converts(Extra const& extra) noexcept {
#if NB_VERSION_MAJOR >= 3
    static_cast<void>(extra);
    return (nb::detail::arg_traits<Extra>::flags & nb::detail::cast_flags::convert) != 0;
#else
    return extra.convert_;
#endif
  }
};

template <class Result, class... Parameters, class... Extra>
void write_record(Result (*)(Parameters...), bound_record& record, Extra const&... extra) {
  record_writer<Result, Parameters...>::write(record, extra...);
}

}  // namespace on_nanobind
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
