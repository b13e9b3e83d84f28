// load_all loads the arguments of one call; add_reasons adds why they do not fit: the reason of
// each, or the extents that disagree.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <tuple>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/container_argument.hpp>
#include <dlbridge/python/call/detail/named_extents.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {
/// Where the code is that loads an argument: in the function that calls load_all, or once for each
/// type of parameter, which takes one more call.
enum class load_code { in_line, out_of_line };

// def_fast loads more arguments than this out of line: several kilobytes for each argument would
// not stay in the processor's cache.
constexpr std::size_t most_loaded_in_line = 3;

template <class Argument>
DLBRIDGE_NOINLINE load_result load_out_of_line(Argument& argument, PyObject* object) noexcept {
  return argument.load(object);
}
template <load_code Where, class Argument>
DLBRIDGE_INLINE load_result load_one(Argument& argument, PyObject* object) noexcept {
  if constexpr (Where == load_code::in_line) {
    return argument.load(object);
  } else {
    return load_out_of_line(argument, object);
  }
}

// Loads all arguments of a call, from the first to the last, and confirms each argument after which
// Python code may have run. A fatal exception of one ends the call before the next is loaded.
template <load_code Where, class Tuple, std::size_t... Is>
DLBRIDGE_INLINE bool load_all(Tuple& arguments, PyObject* const* objects,
                              std::index_sequence<Is...>) noexcept {
  constexpr auto fast = static_cast<unsigned>(load_result::fast);
  [[maybe_unused]] unsigned results[sizeof...(Is) + 1];
  unsigned all = fast;
  static_cast<void>(((all &= results[Is] = static_cast<unsigned>(
                          load_one<Where>(std::get<Is>(arguments), objects[Is])),
                      all != 0 || !std::get<Is>(arguments).is_fatal()) &&
                     ...));
  if (all != static_cast<unsigned>(load_result::after_python)) {
    return all == fast;
  }
  if constexpr (sizeof...(Is) < 2) {
    return true;
  } else {
    std::size_t last = sizeof...(Is) - 1;
    while (results[last] == fast) {
      --last;
    }
    return ((Is >= last || std::get<Is>(arguments).confirm()) && ...);
  }
}

template <class P>
void add_if_refused(refusals& reasons, tensor_argument<P>& argument, char const* name,
                    int position) noexcept {
  reasons.add_if_refused(argument, name, position);
}
template <class P>
void add_if_refused(refusals& reasons, container_argument<P>& argument, char const* name,
                    int position) noexcept {
  reasons.add_if_refused(argument.refusal(), name, position);
}

/// Adds the reasons of a refused call. Arguments of other types have an add_if_refused in their
/// namespace.
/// @param arguments those of the call, after they were loaded
/// @param parameters name(i) is the name of a parameter, or null; position(i) its number in
/// messages
template <class... Arguments, class Parameters, std::size_t... Is>
DLBRIDGE_COLD void add_reasons(refusals& reasons, std::tuple<Arguments...>& arguments,
                               Parameters const& parameters,
                               std::index_sequence<Is...> indices) noexcept {
  (add_if_refused(reasons, std::get<Is>(arguments), parameters.name(Is), parameters.position(Is)),
   ...);
  if (!reasons) {
    detail::add_disagreement(reasons, arguments, parameters, indices);
  }
}

}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
