// agree_on_extents: checks that extents of the same name agree among the arguments of a call, and
// states in a refusal which argument gave the extent.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include <dlbridge/error.hpp>
#include <dlbridge/extent_names.hpp>
#include <dlbridge/python/call/detail/function_record.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
// Whether an argument has an extent with a name. Only tensors have, not those in containers.
template <class Argument>
constexpr bool names_extents = false;
template <class P>
constexpr bool names_extents<tensor_argument<P>> =
    dlbridge::detail::has_names(parameter<P>::required());

template <class Arguments>
constexpr bool any_names_extents = false;
template <class... Arguments>
constexpr bool any_names_extents<std::tuple<Arguments...>> =
    (names_extents<std::remove_reference_t<Arguments>> || ...);

/// Whether argument i agrees with the names of earlier arguments; calls report(i, argument, entry)
/// if not.
template <class Argument, class Report>
bool agrees(std::size_t i, Argument& argument, extent_names& names, Report const& report) noexcept {
  if constexpr (names_extents<Argument>) {
    extent_names::entry const* const other =
        argument.is_tensor() ? names.add(argument.view(), Argument::need, static_cast<int>(i))
                             : nullptr;
    if (other != nullptr) {
      report(i, argument, *other);
      return false;
    }
  }
  return true;
}

/// Whether the extents of the same name agree. Compiles to nothing where no parameter names one.
/// @pre every argument was loaded
/// @param report as of agrees, for the first disagreement
template <class Arguments, std::size_t... Is, class Report>
bool agree_on_extents(Arguments& arguments, std::index_sequence<Is...>,
                      Report const& report) noexcept {
  if constexpr (any_names_extents<Arguments>) {
    extent_names names;
    return (agrees(Is, std::get<Is>(arguments), names, report) && ...);
  } else {
    return true;
  }
}
template <class Arguments, std::size_t... Is>
DLBRIDGE_INLINE bool agree_on_extents(Arguments& arguments,
                                      std::index_sequence<Is...> indices) noexcept {
  return detail::agree_on_extents(arguments, indices, [](auto const&...) {});
}

/// Adds the first disagreement to the reasons of a call.
/// @param record names the parameters
template <class Arguments, class Indices>
DLBRIDGE_COLD DLBRIDGE_NOINLINE void add_disagreement(refusals& reasons, Arguments& arguments,
                                                      function_record const& record,
                                                      Indices indices) noexcept {
  detail::agree_on_extents(
      arguments, indices, [&](std::size_t i, auto& argument, extent_names::entry const& with) {
        auto const other = static_cast<std::size_t>(with.source);
        bounded_text<64> where;
        record.name_of(other) != nullptr
            ? where.append("'").append(record.name_of(other)).append("'")
            : where.append("argument ").append(std::int64_t{record.position(other)});
        reasons.add(
            dlbridge::detail::disagreement(argument.view(), argument.need, with, where.c_str()),
            record.name_of(i), record.position(i));
      });
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
