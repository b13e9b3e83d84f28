// is_index and require_index: which types index a dimension, and the check of an index.
// layer: tensors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
template <class Index, class Integer, class = void>
constexpr bool becomes = false;
template <class Index, class Integer>
constexpr bool becomes<Index, Integer, std::void_t<decltype(Integer{std::declval<Index>()})>> =
    true;

// Whether a type is an integer, or a class that converts to one. Braces refuse floats, and classes
// that convert to a float, such as float16.
template <class Index>
constexpr bool is_index = std::is_integral_v<Index> || std::is_enum_v<Index> ||
                          becomes<Index, std::int64_t> || becomes<Index, std::uint64_t>;

// Throws for an index that is not one of an axis.
DLBRIDGE_COLD void raise_index(tensor_view const& view, int axis, std::int64_t index,
                               bool is_unsigned);
template <class Index>
void require_index(tensor_view const& view, int axis, Index given) {
  auto const index = static_cast<std::int64_t>(given);
  if (index < 0 || index >= view.extent(axis)) {
    raise_index(view, axis, index, std::is_unsigned_v<Index>);
  }
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/detail/index.ipp>
#endif
