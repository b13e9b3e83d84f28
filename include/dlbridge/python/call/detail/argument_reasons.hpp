// add_reasons: adds why the arguments of one call do not fit: the reason of each, or the extents
// that disagree.
#pragma once

#include <cstddef>
#include <tuple>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/call/container_argument.hpp>
#include <dlbridge/python/call/detail/named_extents.hpp>
#include <dlbridge/python/call/detail/refusals.hpp>
#include <dlbridge/python/call/tensor_argument.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {

template <class P>
void add_if_refused(refusals& reasons, tensor_argument<P>& argument, char const* name,
                    int position) noexcept {
  reasons.add_if_refused(argument, name, position);
}
template <class P, class Others>
void add_if_refused(refusals& reasons, container_argument<P, Others>& argument, char const* name,
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
  if constexpr (any_names_extents<std::tuple<Arguments...>>) {
    if (!reasons) {
      add_disagreements(reasons, arguments, parameters, indices);
    }
  }
}

}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
