// element_value: reads one element in host memory as a Python number.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <dlbridge/abi.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/python/detail/formats.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {
/// What the largest exponent and the negative zero of a float format mean.
enum class float_specials : std::uint8_t {
  ieee,          ///< infinities and NaNs
  nan_only,      ///< NaN for all ones, else numbers ("fn")
  nan_for_zero,  ///< NaN in place of the negative zero, else numbers ("fnuz")
  none           ///< numbers only
};
/// A binary float format of at most 16 bits: sign, exponent, fraction.
struct float_format {
  int code;
  int bits;
  int fraction_bits;
  int bias;
  float_specials specials;
};
DLBRIDGE_LOCAL inline constexpr float_format float_formats[] = {
    {2, 16, 10, 15, float_specials::ieee},        {4, 16, 7, 127, float_specials::ieee},
    {7, 8, 4, 3, float_specials::ieee},           {8, 8, 3, 7, float_specials::ieee},
    {9, 8, 3, 11, float_specials::nan_for_zero},  {10, 8, 3, 7, float_specials::nan_only},
    {11, 8, 3, 8, float_specials::nan_for_zero},  {12, 8, 2, 15, float_specials::ieee},
    {13, 8, 2, 16, float_specials::nan_for_zero}, {15, 6, 3, 1, float_specials::none},
    {16, 6, 2, 3, float_specials::none},          {17, 4, 1, 1, float_specials::none},
};

inline double decode_float(std::uint64_t bits, float_format const& format) noexcept {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  std::uint64_t const sign_bit = std::uint64_t{1} << (format.bits - 1);
  std::uint64_t const fraction_mask = (std::uint64_t{1} << format.fraction_bits) - 1;
  std::uint64_t const fraction = bits & fraction_mask;
  auto const exponent = static_cast<int>((bits & (sign_bit - 1)) >> format.fraction_bits);
  int const largest = (1 << (format.bits - 1 - format.fraction_bits)) - 1;
  double const sign = (bits & sign_bit) != 0 ? -1.0 : 1.0;
  if (format.specials == float_specials::ieee && exponent == largest) {
    return fraction != 0 ? nan : sign * std::numeric_limits<double>::infinity();
  }
  bool const is_nan =
      (format.specials == float_specials::nan_only && (bits & (sign_bit - 1)) == sign_bit - 1) ||
      (format.specials == float_specials::nan_for_zero && bits == sign_bit);
  if (is_nan) {
    return nan;
  }
  std::uint64_t const hidden = exponent != 0 ? fraction_mask + 1 : 0;
  int const scale = (exponent != 0 ? exponent : 1) - format.bias - format.fraction_bits;
  return sign * std::ldexp(static_cast<double>(fraction + hidden), scale);
}

// The bits of a scalar of at most 64 bits, which begins at a byte of its memory plus `shift` bits.
// Packed scalars follow each other from the lowest bit of a byte on.
inline std::uint64_t bits_at(unsigned char const* memory, int shift, int count) noexcept {
  std::uint64_t bits = 0;
  if (count % 8 == 0 && shift == 0) {
    int const bytes = count / 8;
    for (int i = 0; i < bytes; ++i) {
      bits |= std::uint64_t{memory[is_little_endian() ? i : bytes - 1 - i]} << (8 * i);
    }
    return bits;
  }
  for (int i = 0; i < count; ++i) {
    int const position = shift + i;
    bits |= std::uint64_t{static_cast<unsigned>(memory[position / 8] >> (position % 8)) & 1U} << i;
  }
  return bits;
}

// Reads a float of a format that element_value supports. Returns false for other dtypes.
inline bool try_read_float(unsigned char const* memory, int shift, int code, int bits,
                           double& out) noexcept {
  if (code == kDLFloat && bits == 64) {
    std::memcpy(&out, memory, sizeof(out));
    return true;
  }
  if (code == kDLFloat && bits == 32) {
    float number = 0;
    std::memcpy(&number, memory, sizeof(number));
    out = number;
    return true;
  }
  constexpr int e8m0 = 14;
  if (code == e8m0) {
    out =
        *memory == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, *memory - 127);
    return true;
  }
  for (float_format const& each : float_formats) {
    if (each.code == code && each.bits == bits) {
      out = decode_float(bits_at(memory, shift, bits), each);
      return true;
    }
  }
  return false;
}

// Reads a complex number, whose two floats are adjacent.
inline bool try_read_complex(unsigned char const* memory, dtype type, double& real,
                             double& imaginary) noexcept {
  constexpr int bcomplex = 18;
  int const code = type.code == bcomplex ? int{kDLBfloat} : int{kDLFloat};
  int const bits = type.bits / 2;
  return try_read_float(memory, 0, code, bits, real) &&
         try_read_float(memory + bits / 8, 0, code, bits, imaginary);
}

/// Whether element_value reads the dtype: booleans, integers of at most 64 bits, the floats of
/// DLPack of at most 64 bits and the complex numbers of two such floats, with one lane.
inline bool has_value(dtype type) noexcept {
  unsigned char const zeros[16] = {};
  double number = 0;
  if (type.lanes != 1 || type.code == kDLOpaqueHandle) {
    return false;
  }
  if (type.code == kDLBool || type.code == kDLInt || type.code == kDLUInt) {
    return type.bits <= 64;
  }
  return is_complex(type)
             ? type.bits <= 128 && try_read_complex(zeros, type, number, number)
             : type.bits <= 64 && try_read_float(zeros, 0, type.code, type.bits, number);
}

/// One element as a Python bool, int, float or complex.
/// @param shift the bits from memory to the element; 0 unless it is packed.
/// @pre has_value(type).
/// @return a new reference; null, with MemoryError set, when there is no memory.
inline PyObject* element_value(unsigned char const* memory, int shift, dtype type) noexcept {
  double real = 0;
  double imaginary = 0;
  if (is_complex(type)) {
    static_cast<void>(try_read_complex(memory, type, real, imaginary));
    return api<PyComplex_FromDoubles>(real, imaginary);
  }
  if (type.code != kDLBool && type.code != kDLInt && type.code != kDLUInt) {
    static_cast<void>(try_read_float(memory, shift, type.code, type.bits, real));
    return PyFloat_FromDouble(real);
  }
  std::uint64_t const bits = bits_at(memory, shift, type.bits);
  if (type.code == kDLBool) {
    return PyBool_FromLong(bits != 0 ? 1 : 0);
  }
  if (type.code == kDLUInt) {
    return PyLong_FromUnsignedLongLong(bits);
  }
  int const unused = 64 - type.bits;  // moves the sign to the highest bit, and back
  return PyLong_FromLongLong(static_cast<std::int64_t>(bits << unused) >> unused);
}
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
