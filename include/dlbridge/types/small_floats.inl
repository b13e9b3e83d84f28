// The inline bodies of small_floats.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/types/small_floats.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
constexpr std::uint32_t float_sign = 0x80000000;

// Removes the lowest `count` bits of a number below 2^31, rounded to the nearest even one.
constexpr std::uint32_t round_off(std::uint32_t number, unsigned count) noexcept {
  return (number + (std::uint32_t{1} << (count - 1)) - 1 + (number >> count & 1)) >> count;
}

template <int Code, unsigned ExponentBits, unsigned MantissaBits, unsigned Bias, special Special>
inline float signed_format<Code, ExponentBits, MantissaBits, Bias, Special>::decode(
    std::uint32_t number) noexcept {
  std::uint32_t const exponent = (number & magnitudes) >> MantissaBits;
  std::uint32_t const mantissa = number & ((1U << MantissaBits) - 1);
  std::uint32_t const sign = (number & sign_bit) != 0 ? float_sign : 0;
  if (exponent == 0) {
    bool const is_nan = Special == special::fnuz && number == sign_bit;
    float const unit = float_of((128 - Bias - MantissaBits) << 23);  // of subnormal numbers
    return is_nan ? float_of(quiet_nan)
                  : float_of(bits_of(static_cast<float>(mantissa) * unit) | sign);
  }
  bool const is_special = Special == special::ieee ? (number & magnitudes) >= infinity
                          : Special == special::fn ? (number & magnitudes) == magnitudes
                                                   : false;
  return float_of((is_special ? float_infinity : (exponent + 127 - Bias) << 23) |
                  mantissa << dropped | sign);
}

template <int Code, unsigned ExponentBits, unsigned MantissaBits, unsigned Bias, special Special>
inline std::uint32_t signed_format<Code, ExponentBits, MantissaBits, Bias, Special>::encode(
    float value) noexcept {
  std::uint32_t const all = bits_of(value);
  std::uint32_t const magnitude = all & ~float_sign;
  std::uint32_t const sign = (all & float_sign) != 0 ? sign_bit : 0;
  if (magnitude > float_infinity) {
    return sign | limits::nan;
  }
  std::uint32_t number = 0;
  if (magnitude >= (128 - Bias) << 23) {
    number = round_off(magnitude - ((127 - Bias) << 23), dropped);
  } else {  // the number is subnormal; that of a subnormal float is 0
    std::uint32_t const shift = dropped + (128 - Bias) - (magnitude >> 23);
    number = shift > 24 ? 0 : round_off((magnitude & 0x7FFFFF) | 0x800000, shift);
  }
  if (Special == special::fnuz) {
    return number > magnitudes ? sign_bit : number == 0 ? 0 : sign | number;
  }
  constexpr std::uint32_t overflow = Special == special::ieee ? infinity : magnitudes;
  return sign | (number < overflow ? number : overflow);
}

template <class Integer, class>
float to_odd_float(Integer value) noexcept {
  bool is_negative = false;
  if constexpr (std::is_signed_v<Integer>) {
    is_negative = value < 0;
  }
  auto const same = static_cast<std::uint64_t>(value);
  std::uint64_t number = is_negative ? 0 - same : same;
  std::uint64_t lost = 0;
  float unit = 1;
  while (number >> 24 != 0) {
    lost |= number & 1;
    number >>= 1;
    unit *= 2;
  }
  float const magnitude = static_cast<float>(number | lost) * unit;
  return is_negative ? -magnitude : magnitude;
}

template <class To, class From>
To converted_number(From number) noexcept {
  if constexpr (!std::is_arithmetic_v<From>) {
    return converted_number<To>(static_cast<float>(number));
  } else if constexpr (!std::is_enum_v<To> && std::is_same_v<number_of<To>, float> &&
                       sizeof(To) <= 2) {
    return static_cast<To>(to_odd_float(static_cast<widened<From>>(number)));
  } else {
    return static_cast<To>(static_cast<number_of<To>>(number));
  }
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE
