// The inline bodies of tensor.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/detail/index.hpp>
#include <dlbridge/tensor.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
// The requirement of a tensor_span in memory, which a call of required() would copy each time.
template <class Span>
DLBRIDGE_LOCAL inline constexpr requirement required_by = without_free_extents(Span::required());
}  // namespace detail

template <class T, class Shape, class... Constraints>
inline tensor_span<T, Shape, Constraints...>::tensor_span(tensor_view const& view)
    : tensor_span((require_view(view, detail::required_by<tensor_span>), view), trusted()) {}

template <class T, class Shape, class... Constraints>
constexpr requirement tensor_span<T, Shape, Constraints...>::required() noexcept {
  requirement need;
  need.type = dtype_of<T>();
  need.rank = facts::rank;
  need.extents = facts::extents();
  need.writable = !std::is_const_v<T>;
  need.alignment = alignof(T);
  (detail::apply(need, Constraints{}), ...);
  return need;
}

template <class T, class Shape, class... Constraints>
inline std::int64_t tensor_span<T, Shape, Constraints...>::stride(int i) const noexcept {
  if constexpr (facts::rank > 0) {
    return parts_.strides[i];
  } else {
    return parts_.view.stride(i);
  }
}

template <class T, class Shape, class... Constraints>
inline tensor_view tensor_span<T, Shape, Constraints...>::view() const noexcept {
  std::uint64_t const flags = parts_.view.flags();
  return std::is_const_v<T> ? parts_.view.with_flags(flags | flag_read_only) : parts_.view;
}

template <class T, class Shape, class... Constraints>
template <class... Index>
inline T& tensor_span<T, Shape, Constraints...>::operator()(Index... index) const noexcept {
  static_assert(has_static_rank,
                "dlbridge: indexing needs a static rank. Write tensor_span<T, shape<...>>, or "
                "use data(), extent(i) and stride(i)");
  static_assert(!has_static_rank || sizeof...(Index) == facts::rank,
                "dlbridge: one index for each dimension. Write x(i, j), or x.at(i, j)");
  static_assert((detail::is_index<Index> && ...), "dlbridge: an index is an integer");
  static_assert(is_indexable(),
                "dlbridge: the CPU cannot index device memory. Copy the tensor to the host, or "
                "pass data() to code of the device");
  int i = 0;
  std::int64_t offset = 0;
  ((offset += static_cast<std::int64_t>(index) * stride(i++)), ...);
  return data()[offset];
}

template <class T, class Shape, class... Constraints>
template <class... Index>
inline T& tensor_span<T, Shape, Constraints...>::at(Index... index) const {
  int axis = 0;
  (detail::require_index(parts_.view, axis++, index), ...);
  return (*this)(index...);
}

// The function does not call find_row: with the sanitizers of GCC, the pointer that find_row
// returns is not a constant expression.
template <class T, class Shape, class... Constraints>
constexpr bool tensor_span<T, Shape, Constraints...>::is_indexable() noexcept {
  constexpr std::int32_t type = detail::device_filter_type<Constraints...>();
  bool result = type == device_filter::host;
  for (device_row const& each : device_rows) {
    result = result || (each.type == type && each.host_accessible());
  }
  return result;
}

template <class T, class Shape, class... Constraints>
inline void tensor_span<T, Shape, Constraints...>::keep_strides(
    [[maybe_unused]] std::int64_t const* shape,
    [[maybe_unused]] std::int64_t const* strides) noexcept {
  if constexpr (facts::rank > 0) {
    // No call receives the address of a member, so that compilers keep the span in registers.
    std::int64_t computed[facts::rank];
    if (strides == nullptr) {
      fill_row_major(facts::rank, shape, computed);
    }
    std::int64_t const* const known = strides != nullptr ? strides : computed;
    for (int i = 0; i < facts::rank; ++i) {
      parts_.strides[i] = known[i];
    }
  }
}

template <class T, class Shape, class... Constraints>
inline tensor<T, Shape, Constraints...> tensor<T, Shape, Constraints...>::trust(
    managed_tensor owned) noexcept {
  tensor_view const view = owned.view();
  return tensor(span_type::trust(view), std::move(owned));
}

template <class T, class Shape, class... Constraints>
inline tensor<T, Shape, Constraints...>::operator tensor_view() const& {
  static_cast<void>(detail::require_owner(owned_));
  return span_;
}

DLBRIDGE_END_NAMESPACE
