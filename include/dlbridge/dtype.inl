// The inline bodies of dtype.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/dtype.hpp>

DLBRIDGE_BEGIN_NAMESPACE

template <class Text>
constexpr Text& append_name(Text& text, dtype t) noexcept {
  if (!is_sound(t)) {
    return text.append("(code ")
        .append_unsigned(t.code)
        .append(", bits ")
        .append_unsigned(t.bits)
        .append(", lanes ")
        .append_unsigned(t.lanes)
        .append(")");
  }
  text.append(dtype_rows[t.code].name);
  bool const is_plain_bool = t.code == 6 && t.bits == 8;
  if (dtype_rows[t.code].fixed_bits == 0 && !is_plain_bool) {
    text.append_unsigned(t.bits);
  }
  if (t.lanes != 1) {
    text.append("x").append_unsigned(t.lanes);
  }
  return text;
}

template <class T>
constexpr dtype dtype_of() noexcept {
  constexpr dtype value = dtype_traits<std::remove_cv_t<T>>::value;
  static_assert(element_bits(value) == std::int64_t{8} * sizeof(T),
                "dlbridge: an element of dtype_traits<T>::value has another size than T. Bits "
                "times lanes must be 8 * sizeof(T); elements below a byte share bytes, so that "
                "they have no C++ type");
  return value;
}

DLBRIDGE_END_NAMESPACE
