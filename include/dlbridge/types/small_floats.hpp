// float16, bfloat16 and the floats of 8 bits: store numbers of these dtypes, and convert them to
// float and back.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include <dlbridge/abi.hpp>
#include <dlbridge/dtype.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
std::uint32_t bits_of(float value) noexcept;
float float_of(std::uint32_t bits) noexcept;
constexpr std::uint32_t float_infinity = 0x7F800000;

// What a format has beside finite numbers.
enum class special : std::uint8_t {
  ieee,  // infinities and NaNs, as IEEE 754 defines them
  fn,    // no infinity; all bits but the sign set is a NaN
  fnuz,  // no infinity and no -0, whose bits are the only NaN
  none   // numbers only
};

// The bits of the numbers that std::numeric_limits states, of a format with a sign.
template <unsigned ExponentBits, unsigned MantissaBits, unsigned Bias, special Special>
struct format_limits {
  static constexpr int digits = MantissaBits + 1;
  static constexpr bool has_infinity = Special == special::ieee;
  static constexpr bool is_ieee = has_infinity && ExponentBits == 5 && MantissaBits == 10;
  static constexpr int min_exponent = 2 - static_cast<int>(Bias);
  static constexpr int max_exponent =
      (1 << ExponentBits) - static_cast<int>(Bias) - (has_infinity ? 1 : 0);
  static constexpr unsigned sign = 1U << (ExponentBits + MantissaBits);
  static constexpr unsigned top = ((1U << ExponentBits) - 1) << MantissaBits;
  static constexpr unsigned max = has_infinity             ? top - 1
                                  : Special == special::fn ? sign - 2
                                                           : sign - 1;
  static constexpr unsigned lowest = sign | max;
  static constexpr unsigned min = 1U << MantissaBits;
  static constexpr unsigned denorm_min = 1;
  static constexpr unsigned epsilon = Bias > MantissaBits ? (Bias - MantissaBits) << MantissaBits
                                                          : 1U << (Bias - 1);
  static constexpr unsigned half = (Bias - 1) << MantissaBits;
  static constexpr unsigned nan = has_infinity             ? top | 1U << (MantissaBits - 1)
                                  : Special == special::fn ? sign - 1
                                                           : sign;
  static constexpr unsigned infinity = has_infinity ? top : nan;
};

// A format with a sign, exponents and mantissas. `decode` returns the number as a float, which has
// every number of the format; `encode` rounds a float to the nearest even number of the format.
template <int Code, unsigned ExponentBits, unsigned MantissaBits, unsigned Bias, special Special>
struct signed_format {
  using limits = format_limits<ExponentBits, MantissaBits, Bias, Special>;
  static constexpr int code = Code;
  static constexpr unsigned bits = 1 + ExponentBits + MantissaBits;
  using storage = std::conditional_t<bits == 8, std::uint8_t, std::uint16_t>;

  static float decode(std::uint32_t number) noexcept;

  static std::uint32_t encode(float value) noexcept;

 private:
  static constexpr std::uint32_t sign_bit = limits::sign;
  static constexpr std::uint32_t magnitudes = sign_bit - 1;
  static constexpr std::uint32_t infinity = limits::top;
  static constexpr std::uint32_t quiet_nan = float_infinity | 0x400000;
  static constexpr unsigned dropped = 23 - MantissaBits;
};

// The upper half of a float.
struct bfloat16_format {
  using limits = format_limits<8, 7, 127, special::ieee>;
  static constexpr int code = kDLBfloat;
  static constexpr unsigned bits = 16;
  using storage = std::uint16_t;
  static float decode(std::uint32_t number) noexcept { return float_of(number << 16); }
  static std::uint32_t encode(float value) noexcept;
};

// A power of two from 2^-127 to 2^127, without sign and without 0.
struct float8_e8m0fnu_format {
  static constexpr int code = 14;
  static constexpr unsigned bits = 8;
  struct limits {
    static constexpr int digits = 1, min_exponent = -126, max_exponent = 128;
    static constexpr bool has_infinity = false, is_ieee = false;
    static constexpr unsigned min = 0, lowest = 0, denorm_min = 0, max = 0xFE;
    static constexpr unsigned half = 126, epsilon = 127, nan = 0xFF, infinity = nan;
  };
  using storage = std::uint8_t;
  static float decode(std::uint32_t number) noexcept;
  // As ml_dtypes and PyTorch do, a number half way between two powers of two is rounded up, and one
  // between 2^-127 and 2^-126 to 2^-126. A number of 0 and below becomes NaN.
  static std::uint32_t encode(float value) noexcept;
};

// Converts a number to a float, rounded so that a second rounding, to fewer bits, has the result of
// a single one: a float that is not exact has its lowest bit set.
inline float to_odd_float(float value) noexcept { return value; }
float to_odd_float(double value) noexcept;
template <class Integer, class = std::enable_if_t<std::is_integral_v<Integer>>>
float to_odd_float(Integer value) noexcept;
// Whether a type is an integer or a floating type of at most 64 bits. _Float16 and __bf16 are no
// arithmetic types before C++23.
template <class Number>
constexpr bool is_exact_source =
    sizeof(Number) <= 8 &&
    (std::is_integral_v<Number> || (!std::is_class_v<Number> && !std::is_enum_v<Number> &&
                                    std::is_convertible_v<Number, double>));
// The type of C++17 that holds its numbers.
template <class Number>
using widened =
    std::conditional_t<std::is_integral_v<Number>, Number,
                       std::conditional_t<(sizeof(Number) > sizeof(float)), double, float>>;
// Converts a number to an element whose type takes_numbers. A type of at most 16 bits may round the
// float itself, as Eigen's half and _Float16 do.
template <class To, class From>
To converted_number(From number) noexcept;
}  // namespace detail

/// A number of 16 or 8 bits, for storage: float16, bfloat16, float8_e4m3fn and others. It converts
/// to float without a loss, so that arithmetic is that of float, and from other numbers by an
/// explicit conversion, which rounds to the nearest number, to even. A number above the largest
/// finite one becomes infinity, or NaN in a format without infinity.
/// @tparam Format The format of the bits.
template <class Format>
class small_float {
 public:
  using storage = typename Format::storage;  ///< The unsigned integer of the bits.

  small_float() = default;  ///< Not initialized, as a float.
  /// Rounds a number.
  template <class Number, class = std::enable_if_t<detail::is_exact_source<Number>>>
  explicit small_float(Number number) noexcept
      : bits_(static_cast<storage>(
            Format::encode(detail::to_odd_float(static_cast<detail::widened<Number>>(number))))) {}
  /// Rounds a number of another format.
  template <class Other>
  explicit small_float(small_float<Other> number) noexcept
      : small_float(static_cast<float>(number)) {}
  /// The number with these bits.
  static constexpr small_float from_bits(storage bits) noexcept {
    return small_float(bits, as_bits());
  }

  operator float() const noexcept { return Format::decode(bits_); }  ///< The number, exactly.
  constexpr storage bits() const noexcept { return bits_; }          ///< The bits of the number.

 private:
  struct as_bits {};
  constexpr small_float(storage bits, as_bits) noexcept : bits_(bits) {}

  storage bits_;
};

// The names are those of dlpack.h, of NumPy and of ml_dtypes. The codes are integers, as an older
// dlpack.h lacks the enumerators.
/// A float of 16 bits, as IEEE 754 defines it.
using float16 = small_float<detail::signed_format<kDLFloat, 5, 10, 15, detail::special::ieee>>;
using bfloat16 = small_float<detail::bfloat16_format>;  ///< The upper half of a float.
/// A float with 3 bits of exponent and 4 of mantissa, with infinities and NaNs.
using float8_e3m4 = small_float<detail::signed_format<7, 3, 4, 3, detail::special::ieee>>;
/// A float with 4 bits of exponent and 3 of mantissa, with infinities and NaNs.
using float8_e4m3 = small_float<detail::signed_format<8, 4, 3, 7, detail::special::ieee>>;
/// As float8_e4m3 with a bias of 11, without infinity and without -0.
using float8_e4m3b11fnuz = small_float<detail::signed_format<9, 4, 3, 11, detail::special::fnuz>>;
/// As float8_e4m3 without infinity.
using float8_e4m3fn = small_float<detail::signed_format<10, 4, 3, 7, detail::special::fn>>;
/// As float8_e4m3 with a bias of 8, without infinity and without -0.
using float8_e4m3fnuz = small_float<detail::signed_format<11, 4, 3, 8, detail::special::fnuz>>;
/// A float with 5 bits of exponent and 2 of mantissa, with infinities and NaNs.
using float8_e5m2 = small_float<detail::signed_format<12, 5, 2, 15, detail::special::ieee>>;
/// As float8_e5m2 with a bias of 16, without infinity and without -0.
using float8_e5m2fnuz = small_float<detail::signed_format<13, 5, 2, 16, detail::special::fnuz>>;
using float8_e8m0fnu = small_float<detail::float8_e8m0fnu_format>;  ///< A power of two.

/// The dtype of a small_float.
template <class Format>
struct dtype_traits<small_float<Format>> {
  static constexpr dtype value{Format::code, Format::bits};  ///< The dtype.
};

// The types of the compiler, which are also std::float16_t and std::bfloat16_t. For ARM, GCC before
// 13 states the limits of _Float16 in C++ too, but has the type in C alone.
#if defined(__FLT16_MAX__) && !defined(__CUDACC__) &&                                          \
    (defined(__clang__) ? __clang_major__ >= 15 && (defined(__SSE2__) || defined(__aarch64__)) \
                        : defined(__SSE2__) || (__GNUC__ >= 13 && !defined(__i386__)))
template <>
struct dtype_traits<_Float16> {
  static constexpr dtype value{kDLFloat, 16};
};
#endif
#if defined(__BFLT16_MAX__) && !defined(__CUDACC__)
template <>
struct dtype_traits<__bf16> {
  static constexpr dtype value{kDLBfloat, 16};
};
#endif

DLBRIDGE_END_NAMESPACE

namespace std {
/// The limits of a small_float. In a format without infinity, infinity() is NaN.
template <class Format>
// NOLINTNEXTLINE(cert-dcl58-cpp): a specialization for own types, which the standard permits
class numeric_limits<dlbridge::small_float<Format>> : public numeric_limits<float> {
  using number = dlbridge::small_float<Format>;
  using limits = typename Format::limits;
  static constexpr number of(unsigned bits) noexcept {
    return number::from_bits(static_cast<typename Format::storage>(bits));
  }

 public:
  /// @cond
  static constexpr bool is_signed = limits::lowest != 0;
  static constexpr bool is_iec559 = limits::is_ieee;
  static constexpr bool has_infinity = limits::has_infinity;
  static constexpr bool has_signaling_NaN = false;
#if __cplusplus <= 202002L  // C++23 deprecates it
  static constexpr float_denorm_style has_denorm =
      limits::min == limits::denorm_min ? denorm_absent : denorm_present;
#endif
  static constexpr int digits = limits::digits;
  static constexpr int digits10 = (digits - 1) * 30103 / 100000;
  static constexpr int max_digits10 = 2 + digits * 30103 / 100000;
  static constexpr int min_exponent = limits::min_exponent;
  static constexpr int max_exponent = limits::max_exponent;
  static constexpr int min_exponent10 = (min_exponent - 1) * 30103 / 100000;
  static constexpr int max_exponent10 = max_exponent * 30103 / 100000;

  static constexpr number(min)() noexcept { return of(limits::min); }
  static constexpr number(max)() noexcept { return of(limits::max); }
  static constexpr number lowest() noexcept { return of(limits::lowest); }
  static constexpr number denorm_min() noexcept { return of(limits::denorm_min); }
  static constexpr number epsilon() noexcept { return of(limits::epsilon); }
  static constexpr number round_error() noexcept { return of(limits::half); }
  static constexpr number infinity() noexcept { return of(limits::infinity); }
  static constexpr number quiet_NaN() noexcept { return of(limits::nan); }
  static constexpr number signaling_NaN() noexcept { return quiet_NaN(); }
  /// @endcond
};
}  // namespace std

#include <dlbridge/types/small_floats.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/types/small_floats.ipp>
#endif
