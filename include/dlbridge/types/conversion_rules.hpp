// is_real, converts_to, converts_by_value: dtypes of numbers, and the conversions between them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/dtype.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
constexpr bool is_boolean(dtype t) noexcept { return t == dtype(kDLBool, 8); }
constexpr bool is_integer(dtype t) noexcept {
  return (t.code == kDLInt || t.code == kDLUInt) && t.lanes == 1 &&
         (t.bits == 8 || t.bits == 16 || t.bits == 32 || t.bits == 64);
}
constexpr int first_float8 = 7;  // the codes of the floats of 8 bits
constexpr int last_float8 = 14;
constexpr bool is_floating(dtype t) noexcept {
  return (t.code == kDLFloat && t.lanes == 1 && (t.bits == 16 || t.bits == 32 || t.bits == 64)) ||
         t == dtype(kDLBfloat, 16) ||
         (t.code >= first_float8 && t.code <= last_float8 && t.bits == 8 && t.lanes == 1);
}
constexpr bool is_complex_pair(dtype t) noexcept {  // of two floats or doubles
  return t == dtype(kDLComplex, 64) || t == dtype(kDLComplex, 128);
}
}  // namespace detail

/// Whether the elements are real numbers that converted_copy_of reads: bool, integers of 8 to 64
/// bits, and floats of 8 to 64 bits, including bfloat16.
constexpr bool is_real(dtype t) noexcept {
  return detail::is_boolean(t) || detail::is_integer(t) || detail::is_floating(t);
}

/// Whether converted_copy_of and converted parameters convert a dtype to another one: a float
/// receives every real dtype, a complex number also complex ones, rounded to the nearest number; an
/// integer receives bool and the integers whose values it all has.
constexpr bool converts_to(dtype from, dtype to) noexcept {
  if (detail::is_complex_pair(to)) {
    return is_real(from) || detail::is_complex_pair(from);
  }
  if (from == to || !is_real(from) || !is_real(to)) {
    return from == to && is_real(from);
  }
  if (detail::is_integer(to)) {
    return detail::is_boolean(from) || (detail::is_integer(from) && from.bits < to.bits &&
                                        (from.code == to.code || from.code == kDLUInt));
  }
  return detail::is_floating(to);
}

/// Whether by_value parameters convert a dtype to another one, where a tensor with an element that
/// would change is refused: every real dtype receives every other one, bool 0 and 1.
constexpr bool converts_by_value(dtype from, dtype to) noexcept {
  return converts_to(from, to) || (is_real(from) && is_real(to));
}

DLBRIDGE_END_NAMESPACE
