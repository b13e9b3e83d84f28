// shape, row_major, on, aligned, ...: the template arguments by which a typed tensor states its
// requirement.
// layer: arrays
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/requirement.hpp>

DLBRIDGE_BEGIN_NAMESPACE

/// The required extents of a tensor, outermost dimension first, where dynamic_extent accepts any
/// value, and named<'n'> any value that agrees with the other extents of that name:
/// shape<dynamic_extent, 3>, shape<named<'n'>, named<'n'>>.
/// @tparam Extents One extent for each dimension; none for rank 0.
template <std::int64_t... Extents>
struct shape {};
/// Accepts every rank; used in place of shape.
struct dynamic_rank {};

// Constraints are further requirements: the last template arguments of tensor and tensor_span.

/// Requires compact elements with the last dimension fastest.
struct row_major {};
/// Requires compact elements with the first dimension fastest.
struct column_major {};
/// Requires compact elements in any order of the dimensions.
struct compact {};
/// Requires a device.
/// @tparam DeviceType A value of DLDeviceType, or a constant of device_filter.
template <std::int32_t DeviceType>
struct on {};
using on_host = on<device_filter::host>;       ///< Memory that the CPU can access; the default.
using on_cuda = on<kDLCUDA>;                   ///< Memory of CUDA devices.
using on_rocm = on<kDLROCM>;                   ///< Memory of ROCm devices.
using anywhere = on<device_filter::anywhere>;  ///< Memory of any device.
/// Requires an alignment of the first element.
/// @tparam Bytes The alignment in bytes, a power of two.
template <std::size_t Bytes>
struct aligned {
  static_assert(Bytes != 0 && (Bytes & (Bytes - 1)) == 0,
                "dlbridge: an alignment is a power of two");
};

/// Lets a parameter of an extension function accept other dtypes. A tensor of another dtype of
/// numbers, layout or alignment is copied to a new host tensor, with flag_is_copied. converts_to
/// states which dtypes are converted. The constructors of tensor and tensor_span convert nothing;
/// converted_copy_of does so in C++.
struct converted {};
/// Lets a parameter accept other dtypes, as converted, where no element changes: converts_by_value
/// states the dtypes, and a tensor with an element that would change is refused.
struct by_value {};

namespace detail {
template <class Shape>
struct shape_facts {
  static_assert(sizeof(Shape) == 0,
                "dlbridge: the second template argument is shape<...> or dynamic_rank. Write "
                "tensor_span<T, dynamic_rank, Constraints...> for any shape");
  // So that no further error follows.
  static constexpr int rank = requirement::any_rank;
  static constexpr std::int64_t const* extents() noexcept { return nullptr; }
};
template <std::int64_t... Extents>
struct shape_facts<shape<Extents...>> {
  static_assert(sizeof...(Extents) <= max_rank, "dlbridge: a tensor has at most 64 dimensions");
  static_assert(((Extents >= dynamic_extent || name_of_extent(Extents) != '\0') && ...),
                "dlbridge: an extent is dynamic_extent, named<'n'> with a letter, 0 or above");
  static constexpr int rank = sizeof...(Extents);
  DLBRIDGE_LOCAL static constexpr std::int64_t values[] = {Extents..., dynamic_extent};
  static constexpr std::int64_t const* extents() noexcept { return values; }
};
template <>
struct shape_facts<dynamic_rank> {
  static constexpr int rank = requirement::any_rank;
  static constexpr std::int64_t const* extents() noexcept { return nullptr; }
};

template <class Other>
constexpr void apply_device_filter(std::int32_t&, Other) noexcept {}
template <std::int32_t DeviceType>
constexpr void apply_device_filter(std::int32_t& type, on<DeviceType>) noexcept {
  type = DeviceType;
}
// The device type, or the constant of device_filter, that the constraints require.
template <class... Constraints>
constexpr std::int32_t device_filter_type() noexcept {
  std::int32_t type = device_filter::host;
  (apply_device_filter(type, Constraints{}), ...);
  return type;
}

template <class Constraint>
constexpr bool is_layout =
    std::is_same_v<Constraint, row_major> || std::is_same_v<Constraint, column_major> ||
    std::is_same_v<Constraint, compact>;
template <class Constraint>
constexpr bool is_device_filter = false;
template <std::int32_t DeviceType>
constexpr bool is_device_filter<on<DeviceType>> = true;

template <class Constraint>
constexpr bool is_alignment = false;
template <std::size_t Bytes>
constexpr bool is_alignment<aligned<Bytes>> = true;
template <class Constraint>
constexpr bool is_constraint =
    is_layout<Constraint> || is_device_filter<Constraint> || is_alignment<Constraint> ||
    std::is_same_v<Constraint, converted> || std::is_same_v<Constraint, by_value>;

template <class... Constraints>
constexpr bool is_by_value = (std::is_same_v<Constraints, by_value> || ...);
template <class... Constraints>
constexpr bool is_converted =
    (std::is_same_v<Constraints, converted> || ...) || is_by_value<Constraints...>;

template <class Other>  // converted, by_value, and what is no constraint
constexpr void apply(requirement&, Other) noexcept {}
constexpr void apply(requirement& need, row_major) noexcept { need.order = layout::row_major; }
constexpr void apply(requirement& need, column_major) noexcept {
  need.order = layout::column_major;
}
constexpr void apply(requirement& need, compact) noexcept { need.order = layout::compact; }
template <std::int32_t DeviceType>
constexpr void apply(requirement& need, on<DeviceType>) noexcept {
  need.where.type = DeviceType;
}
template <std::size_t Bytes>
constexpr void apply(requirement& need, aligned<Bytes>) noexcept {
  need.alignment = Bytes > need.alignment ? Bytes : need.alignment;
}

// Sets the extents to null if each of them accepts every value: it is dynamic, or a name that
// occurs once. A check then does not read them.
constexpr requirement without_free_extents(requirement need) noexcept {
  bool any = true;
  for (int i = 0; i < need.rank; ++i) {
    any = any && need.extents[i] < 0;
    for (int j = 0; j < i; ++j) {
      any = any && (need.extents[i] == dynamic_extent || need.extents[i] != need.extents[j]);
    }
  }
  need.extents = any ? nullptr : need.extents;
  return need;
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE
