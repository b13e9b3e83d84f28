// like, any_integer, dims_of: the results of argument::empty_like, and the extents that it takes.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/array_traits.hpp>
#include <dlbridge/constraints.hpp>
#include <dlbridge/requirement.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

template <class T, class Shape, class... Constraints>
class argument;

namespace detail {
template <std::size_t>
constexpr std::int64_t dynamic_extent_at = dynamic_extent;

template <class Indices>
struct dynamic_shape;
template <std::size_t... Is>
struct dynamic_shape<std::index_sequence<Is...>> {
  using type = shape<dynamic_extent_at<Is>...>;
};
template <std::size_t Rank>
using dynamic_shape_of = typename dynamic_shape<std::make_index_sequence<Rank>>::type;

// What empty_like returns: the constraints are none but the device, if it is not the host.
template <class T, class Shape, std::int32_t DeviceType>
struct like {
  using type = argument<T, Shape, on<DeviceType>>;
};
template <class T, class Shape>
struct like<T, Shape, device_filter::host> {
  using type = argument<T, Shape>;
};

// An extent in a list whose numbers have different integer types, as {v.size(), 3}.
struct any_integer {
  template <class Integer, class = std::enable_if_t<std::is_convertible_v<Integer, std::int64_t> &&
                                                    !std::is_floating_point_v<Integer>>>
  constexpr any_integer(Integer number) noexcept : value(static_cast<std::int64_t>(number)) {}
  explicit constexpr operator std::int64_t() const noexcept { return value; }

  std::int64_t value;
};

// dims of a list of extents: dims, or a container of integers such as a vector or a span.
inline dims const& dims_of(dims const& extents) noexcept { return extents; }
template <class Container>
auto dims_of(Container const& extents) noexcept
    -> decltype(dims::from(extents.data(), static_cast<std::size_t>(extents.size()))) {
  return dims::from(extents.data(), static_cast<std::size_t>(extents.size()));
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE
