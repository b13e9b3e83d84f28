// agree_on_extents: checks that extents of the same name agree among the arguments of a call, and
// states in a refusal which argument gave the extent.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include <dlbridge/agreement.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/python/call/container_argument.hpp>
#include <dlbridge/python/call/detail/element_kinds.hpp>
#include <dlbridge/python/call/detail/element_refusal.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/parameter.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/requirement.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {

// Whether an argument has an extent with a name. Only tensors have, not those in containers.
template <class Argument>
constexpr bool names_extents = false;
template <class P>
constexpr bool names_extents<tensor_argument<P>> =
    dlbridge::detail::has_names(parameter<P>::required());

template <class Arguments>
constexpr bool any_names_extents = false;
template <class... Arguments>
constexpr bool any_names_extents<std::tuple<Arguments...>> = (names_extents<Arguments> || ...);

/// The first disagreement of one call.
struct extent_disagreement {
  int position = 0;  ///< of the argument, counted from 1; 0: all agree
  extent_names::entry with{};
};

template <class Argument>
bool agrees(Argument& argument, extent_names& names, int position,
            extent_disagreement& found) noexcept {
  if constexpr (names_extents<Argument>) {
    if (argument.is_tensor()) {
      extent_names::entry const* const other = names.add(argument.view(), Argument::need, position);
      if (other != nullptr) {
        found.position = position;
        found.with = *other;
        return false;
      }
    }
  }
  return true;
}

/// @pre every argument was loaded
/// @return the first disagreement; with position 0 if there is none
template <class... Arguments, std::size_t... Is>
extent_disagreement find_disagreement(std::tuple<Arguments...>& arguments,
                                      std::index_sequence<Is...>) noexcept {
  extent_names names;
  extent_disagreement found;
  static_cast<void>(
      (agrees(std::get<Is>(arguments), names, static_cast<int>(Is) + 1, found) && ...));
  return found;
}

/// Whether the extents of the same name agree. Compiles to nothing where no parameter names one.
template <class Arguments, std::size_t... Is>
DLBRIDGE_INLINE bool agree_on_extents(Arguments& arguments,
                                      std::index_sequence<Is...> indices) noexcept {
  if constexpr (any_names_extents<Arguments>) {
    return find_disagreement(arguments, indices).position == 0;
  } else {
    return true;
  }
}

template <std::size_t Is, class Argument, class Parameters>
void add_disagreement(refusals& reasons, Argument& argument, extent_disagreement const& found,
                      Parameters const& parameters) noexcept {
  if constexpr (names_extents<Argument>) {
    if (static_cast<int>(Is) + 1 == found.position) {
      auto const other = static_cast<std::size_t>(found.with.source) - 1;
      bounded_text<64> where;
      parameters.name(other) != nullptr
          ? where.append("'").append(parameters.name(other)).append("'")
          : where.append("argument ").append(std::int64_t{parameters.position(other)});
      reasons.add(dlbridge::detail::disagreement(argument.view(), Argument::need, found.with,
                                                 where.c_str()),
                  parameters.name(Is), parameters.position(Is));
    }
  }
}

/// Adds the first disagreement to the reasons of a call, of which a parameter names extents.
/// @param parameters name(i) is the name of a parameter, or null; position(i) its number in
/// messages
template <class Arguments, class Parameters, std::size_t... Is>
DLBRIDGE_COLD void add_disagreements(refusals& reasons, Arguments& arguments,
                                     Parameters const& parameters,
                                     std::index_sequence<Is...> indices) noexcept {
  extent_disagreement const found = find_disagreement(arguments, indices);
  if (found.position != 0) {
    (add_disagreement<Is>(reasons, std::get<Is>(arguments), found, parameters), ...);
  }
}

}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
