// The bodies of small_floats.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstring>

#include <dlbridge/types/small_floats.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
DLBRIDGE_API std::uint32_t bits_of(float value) noexcept {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

DLBRIDGE_API float float_of(std::uint32_t bits) noexcept {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

DLBRIDGE_API std::uint32_t bfloat16_format::encode(float value) noexcept {
  std::uint32_t const all = bits_of(value);
  std::uint32_t const sign = (all & float_sign) >> 16;
  return (all & ~float_sign) > float_infinity ? all >> 16 | 0x40
                                              : sign | round_off(all & ~float_sign, 16);
}

DLBRIDGE_API float float8_e8m0fnu_format::decode(std::uint32_t number) noexcept {
  return number == 0      ? float_of(0x00400000)
         : number == 0xFF ? float_of(float_infinity | 0x400000)
                          : float_of(number << 23);
}

DLBRIDGE_API std::uint32_t float8_e8m0fnu_format::encode(float value) noexcept {
  std::uint32_t const all = bits_of(value);
  return all == 0 || all >= float_infinity ? 0xFF
         : all < 0x00800000                ? (all + 0x003FFFFF) >> 23
                                           : (all + 0x00400000) >> 23;
}

DLBRIDGE_API float to_odd_float(double value) noexcept {
  std::uint64_t all = 0;
  std::memcpy(&all, &value, sizeof all);
  std::uint32_t const sign = static_cast<std::uint32_t>(all >> 32) & float_sign;
  std::uint64_t const magnitude = all & ~(std::uint64_t{1} << 63);
  if (magnitude > std::uint64_t{0x7FF} << 52) {
    return float_of(sign | float_infinity | 0x400000);
  }
  std::uint64_t const exponent = magnitude >> 52;
  if (exponent > 1023 + 127) {
    bool const is_infinite = exponent == 0x7FF;
    return float_of(sign | (is_infinite ? float_infinity : float_infinity - 1));
  }
  std::uint64_t number = 0;
  unsigned dropped = 29;
  if (exponent > 1023 - 127) {
    number = magnitude - (std::uint64_t{1023 - 127} << 52);
  } else {  // a subnormal float
    std::uint64_t const shift = 1023 - 126 - exponent;
    number = (magnitude & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1} << 52;
    dropped += static_cast<unsigned>(shift < 34 ? shift : 34);
    if (magnitude == 0) {
      number = 0;
    }
  }
  bool const is_exact = (number & ((std::uint64_t{1} << dropped) - 1)) == 0;
  return float_of(sign | static_cast<std::uint32_t>(number >> dropped) | (is_exact ? 0U : 1U));
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE
