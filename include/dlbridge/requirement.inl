// The inline bodies of requirement.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/requirement.hpp>

DLBRIDGE_BEGIN_NAMESPACE

template <class Type, class>
constexpr device_filter::device_filter(std::int32_t, Type) noexcept {
  static_assert(sizeof(Type) == 0,
                "dlbridge: the second value of a device_filter is the ordinal of one device, not "
                "another type. For several types write {device_filter::anywhere}, and test "
                "view.device()");
}

constexpr bool device_filter::accepts(dlbridge::device where) const noexcept {
  if (type == host) {
    return is_host_accessible(where);
  }
  return type == anywhere || (type == where.type && (id == any_id || id == where.id));
}

namespace detail {
constexpr bool implies(requirement const& known, requirement const& need) noexcept {
  bool result =
      known.type == need.type && known.alignment >= need.alignment &&
      (known.writable || !need.writable) &&
      (known.order == need.order || need.order == layout::strided ||
       (known.order != layout::strided && need.order == layout::compact)) &&
      (known.where.type == need.where.type || need.where.type == device_filter::anywhere) &&
      (known.rank == need.rank || need.rank == requirement::any_rank);
  for (int i = 0; result && i < need.rank; ++i) {
    result = need.extents[i] == dynamic_extent || need.extents[i] == known.extents[i];
  }
  return result;
}

template <class Text>
constexpr void append_alignment(Text& text, std::uint64_t bytes) noexcept {
  text.append(", aligned to ").append_unsigned(bytes).append(bytes == 1 ? " byte" : " bytes");
}

template <class Text>
DLBRIDGE_INLINE constexpr void append_required_extents(Text& text, requirement const& need,
                                                       bool has_extents) noexcept {
  text.append("[");
  if (need.rank == requirement::any_rank) {
    text.append("...");
  }
  for (int i = 0; i < need.rank; ++i) {
    text.append(i == 0 ? "" : ", ");
    if (!has_extents || need.extents[i] == dynamic_extent) {
      text.append("*");
    } else if (need.extents[i] < 0) {
      char const name[] = {name_of_extent(need.extents[i]), '\0'};
      text.append(name);
    } else {
      text.append_unsigned(static_cast<std::uint64_t>(need.extents[i]));
    }
  }
  text.append("]");
}

template <class Text>
DLBRIDGE_INLINE constexpr void append_filter(Text& text, device_filter where) noexcept {
  if (where.type == device_filter::host) {
    text.append(" on cpu");
  } else if (where.type != device_filter::anywhere) {
    text.append(" on ");
    bool any_ordinal = false;
    for (device_row const& each : device_rows) {
      if (where.id == device_filter::any_id && each.type == where.type) {
        text.append(each.name);
        any_ordinal = true;
      }
    }
    if (!any_ordinal) {
      append_name(text, device(where.type, where.id));
    }
  }
}
}  // namespace detail

template <class Text>
constexpr Text& append_requirement(Text& text, requirement const& need, bool has_extents) noexcept {
  if (need.any_type()) {
    text.append("any dtype");
  } else {
    append_name(text, need.type);
  }
  for (std::size_t i = 0; i < need.other_count; ++i) {
    append_name(text.append(i + 1 < need.other_count ? ", " : " or "), need.others[i]);
  }
  text.append(need.other_count > 0 ? " " : "");
  detail::append_required_extents(text, need, has_extents);
  detail::append_filter(text, need.where);
  constexpr char const* orders[] = {"", ", row-major", ", column-major", ", compact"};
  text.append(orders[static_cast<int>(need.order)]);
  if (need.writable) {
    text.append(", writable");
  }
  if (need.alignment > detail::max_unstated_alignment) {
    detail::append_alignment(text, need.alignment);
  }
  if (need.converts && (need.type.code != kDLBool || need.by_value || need.keeps_dtype)) {
    bool const is_integer = need.type.code == kDLInt || need.type.code == kDLUInt;
    text.append(need.keeps_dtype               ? ", copied from other layouts"
                : need.by_value                ? ", converted by value"
                : is_integer                   ? ", converted from narrower integers"
                : need.type.code == kDLComplex ? ", converted from real and complex dtypes"
                                               : ", converted from real dtypes");
  }
  return text;
}

DLBRIDGE_END_NAMESPACE
