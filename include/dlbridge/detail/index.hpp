// is_index and require_index: which types index a dimension, and the check of an index.
// layer: tensors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/tensor_view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
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
DLBRIDGE_COLD inline void raise_index(tensor_view const& view, int axis, std::int64_t index,
                                      bool is_unsigned) {
  bounded_text<360> text("index ");
  if (is_unsigned) {
    text.append_unsigned(static_cast<std::uint64_t>(index));
  } else {
    text.append(index);
  }
  text.append(" is out of range for axis ").append(axis).append(" with extent ");
  text.append(view.extent(axis)).append(" of ").append(name_of(view).c_str());
#if DLBRIDGE_EXCEPTIONS
  throw std::out_of_range(text.c_str());
#else
  raise(refusal(errc::bad_argument, "an index of the tensor", text.c_str()));
#endif
}
template <class Index>
void require_index(tensor_view const& view, int axis, Index given) {
  auto const index = static_cast<std::int64_t>(given);
  if (index < 0 || index >= view.extent(axis)) {
    raise_index(view, axis, index, std::is_unsigned_v<Index>);
  }
}
}  // namespace detail
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
