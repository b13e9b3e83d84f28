// The inline bodies of dtype.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <type_traits>

#include <dlbridge/dtype.hpp>

DLBRIDGE_BEGIN_NAMESPACE

// dtype_rows uses integers, because an older dlpack.h lacks the enumerators of newer codes. Where
// dlpack.h defines the enumerators, they must agree with the table.
static_assert(kDLInt == 0 && kDLUInt == 1 && kDLFloat == 2 && kDLOpaqueHandle == 3 &&
              kDLBfloat == 4 && kDLComplex == 5 && kDLBool == 6);
#if DLBRIDGE_DLPACK_AT_LEAST(1)
static_assert(kDLFloat8_e3m4 == 7 && kDLFloat8_e4m3 == 8 && kDLFloat8_e4m3b11fnuz == 9 &&
              kDLFloat8_e4m3fn == 10 && kDLFloat8_e4m3fnuz == 11 && kDLFloat8_e5m2 == 12 &&
              kDLFloat8_e5m2fnuz == 13 && kDLFloat8_e8m0fnu == 14 && kDLFloat6_e2m3fn == 15 &&
              kDLFloat6_e3m2fn == 16 && kDLFloat4_e2m1fn == 17);
#endif

template <>
struct dtype_traits<bool> {
  static_assert(sizeof(bool) == 1, "dlbridge: a bool of DLPack has one byte");
  static constexpr dtype value{kDLBool, 8};
};
template <class T>
struct dtype_traits<T, std::enable_if_t<std::is_integral_v<T>>> {
  static constexpr dtype value{std::is_signed_v<T> ? kDLInt : kDLUInt, sizeof(T) * 8};
};
template <>
struct dtype_traits<float> {
  static constexpr dtype value{kDLFloat, 32};
};
template <>
struct dtype_traits<double> {
  static constexpr dtype value{kDLFloat, 64};
};
template <>
struct dtype_traits<std::byte> {
  static constexpr dtype value{kDLUInt, 8};
};

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
