// requirement: what a consumer requires of a tensor, and its form in messages and signatures.
// layer: tensors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>

DLBRIDGE_BEGIN_NAMESPACE

/// An extent that accepts every value, in shape<...> and in requirement::extents.
DLBRIDGE_LOCAL inline constexpr std::int64_t dynamic_extent = -1;

/// An extent with a name, a letter: shape<named<'n'>, 3>. It accepts every value, and extents of
/// the same name agree: those of one tensor, and those of all arguments of one call of a function
/// that def, def_fast or require_agreement checks.
template <char Name>
constexpr std::int64_t named = dynamic_extent - Name;

/// A requirement on the strides.
enum class layout : std::uint8_t {
  strided,       ///< Any strides.
  row_major,     ///< Compact, with the last dimension fastest.
  column_major,  ///< Compact, with the first dimension fastest.
  compact        ///< Compact, in any order of the dimensions.
};

/// A requirement on the device: any, memory that the CPU can access, one device type, or one
/// device.
struct device_filter {
  /// In type: any device.
  static constexpr std::int32_t anywhere = -1;
  static constexpr std::int32_t host = 0;     ///< In type: memory that the CPU can access.
  static constexpr std::int32_t any_id = -1;  ///< In id: any ordinal.
  std::int32_t type = host;                   ///< anywhere, host, or a value of DLDeviceType.
  std::int32_t id = any_id;  ///< any_id, or the required ordinal if type is a DLDeviceType.

  constexpr device_filter() noexcept = default;  ///< Memory that the CPU can access.
  /// Requires the members of these values.
  constexpr device_filter(std::int32_t required_type, std::int32_t required_id = any_id) noexcept
      : type(required_type), id(required_id) {}
  /// Does not compile: the second value is an ordinal.
  template <class Type, class = std::enable_if_t<std::is_enum_v<Type>>>
  constexpr device_filter(std::int32_t, Type) noexcept;

  /// Whether a tensor on the device meets the requirement.
  DLBRIDGE_INLINE constexpr bool accepts(dlbridge::device where) const noexcept;
};

/// What a consumer requires of a tensor. The default accepts what the CPU can access.
/// @par Lifetime
/// The requirement points to the extents and to the other dtypes, which must outlive it.
struct requirement {
  static constexpr std::int32_t any_rank = -1;  ///< In rank: any rank.

  dtype type{};                           ///< The dtype; the default, with lanes 0, accepts any.
  std::int32_t rank = any_rank;           ///< The rank, or any_rank.
  std::int64_t const* extents = nullptr;  ///< rank extents (also dynamic_extent, named), or null.
  layout order = layout::strided;         ///< The layout.
  device_filter where{};                  ///< The device.
  bool writable = false;                  ///< Whether the memory must be writable.
  bool converts = false;                  ///< For messages: other dtypes or layouts are copied.
  bool by_value = false;                  ///< For messages: the values of the copy are the same.
  bool keeps_dtype = false;               ///< For messages: other layouts alone are copied.
  std::size_t alignment = 1;              ///< Of the first element, in bytes; a power of two.
  dtype const* others = nullptr;          ///< Further dtypes that are accepted besides type.
  std::size_t other_count = 0;            ///< The number of these dtypes.

  /// Whether any dtype is accepted.
  constexpr bool any_type() const noexcept { return type.lanes == 0; }
};

/// Appends a requirement in the form of messages and signatures: "uint8[*, n, 3] on cpu, writable".
/// @param text The text to append to.
/// @param need The requirement.
/// @param has_extents Whether need.extents is not null. It is a parameter, because g++ with
///   -fsanitize=undefined cannot compare the pointer in a constant expression.
/// @return text.
template <class Text>
constexpr Text& append_requirement(Text& text, requirement const& need, bool has_extents) noexcept;

namespace detail {
constexpr bool is_letter(std::int64_t c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
// The name of a required extent, or '\0' for a fixed or dynamic one.
constexpr char name_of_extent(std::int64_t extent) noexcept {
  return is_letter(dynamic_extent - extent) ? static_cast<char>(dynamic_extent - extent) : '\0';
}

// Whether each tensor that meets `known`, which has extents for its rank, meets `need`.
constexpr bool implies(requirement const& known, requirement const& need) noexcept;

// Smaller alignments are as a rule those of the element types, and would lengthen every signature.
constexpr std::size_t max_unstated_alignment = 64;

template <class Text>
constexpr void append_alignment(Text& text, std::uint64_t bytes) noexcept;
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/requirement.inl>
