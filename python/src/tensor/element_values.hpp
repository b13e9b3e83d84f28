// element_value: reads one element in host memory as a Python number.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>

#include <dlbridge/abi.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/python/detail/formats.hpp>
#include <dlbridge/types/small_floats.hpp>

#include "core.hpp"

namespace core DLBRIDGE_LOCAL {
/// A float format of at most 16 bits, which dlbridge's element types decode.
struct small_format {
  int code;
  int bits;
  float (*decode)(std::uint32_t) noexcept;
};
template <class Format>
constexpr small_format format_of(small_float<Format>) noexcept {
  return {Format::code, Format::bits, &Format::decode};
}
template <int Code, int ExponentBits, int MantissaBits, int Bias>
using finite_float =
    small_float<dlbridge::detail::signed_format<Code, ExponentBits, MantissaBits, Bias,
                                                dlbridge::detail::special::none>>;
inline constexpr small_format small_formats[] = {
    format_of(float16::from_bits(0)),
    format_of(bfloat16::from_bits(0)),
    format_of(float8_e3m4::from_bits(0)),
    format_of(float8_e4m3::from_bits(0)),
    format_of(float8_e4m3b11fnuz::from_bits(0)),
    format_of(float8_e4m3fn::from_bits(0)),
    format_of(float8_e4m3fnuz::from_bits(0)),
    format_of(float8_e5m2::from_bits(0)),
    format_of(float8_e5m2fnuz::from_bits(0)),
    format_of(float8_e8m0fnu::from_bits(0)),
    format_of(finite_float<15, 2, 3, 1>::from_bits(0)),  // float6_e2m3fn
    format_of(finite_float<16, 3, 2, 3>::from_bits(0)),  // float6_e3m2fn
    format_of(finite_float<17, 2, 1, 1>::from_bits(0)),  // float4_e2m1fn
};

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
  for (small_format const& each : small_formats) {
    if (each.code == code && each.bits == bits) {
      out = each.decode(static_cast<std::uint32_t>(bits_at(memory, shift, bits)));
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
}  // namespace core DLBRIDGE_LOCAL
