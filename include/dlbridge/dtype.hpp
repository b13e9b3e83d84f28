// dtype: describes the type of an element; dtype_rows lists DLPack's type codes, and dtype_of<T>
// returns the dtype of a C++ type.
// layer: values
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>

DLBRIDGE_BEGIN_NAMESPACE

/// The type of an element (spec 1.4, 1.5). Shape and strides count elements, not lanes.
struct dtype {
  std::uint8_t code = 0;    ///< The type code: the index of a row of dtype_rows.
  std::uint8_t bits = 0;    ///< Bits of one scalar; 64 for complex64, which has two floats.
  std::uint16_t lanes = 0;  ///< Scalars per element; 0 only in a requirement for any dtype.

  constexpr dtype() noexcept = default;  ///< All 0: no tensor has it.
  /// The dtype of a type code, bits and lanes.
  /// A number that its field cannot hold does not compile in a constant expression. At run time the
  /// result has 0 bits, which no tensor and no requirement may have: is_sound is false.
  constexpr dtype(int code_, int bits_, int lanes_ = 1) noexcept
      : code(static_cast<std::uint8_t>(code_)),
        bits(static_cast<std::uint8_t>(bits_)),
        lanes(static_cast<std::uint16_t>(lanes_)) {
    if (code != code_ || bits != bits_ || lanes != lanes_) {
      lanes = lanes_of_unsound_dtype();
      bits = 0;
    }
  }
  /// Converts the struct of dlpack.h; abi() converts back.
  explicit constexpr dtype(DLDataType abi) noexcept
      : code(abi.code), bits(abi.bits), lanes(abi.lanes) {}
  /// The struct of dlpack.h.
  constexpr DLDataType abi() const noexcept { return {code, bits, lanes}; }

  /// Whether code, bits and lanes are equal.
  friend constexpr bool operator==(dtype a, dtype b) noexcept {
    return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
  }
  friend constexpr bool operator!=(dtype a, dtype b) noexcept { return !(a == b); }  ///< Not ==.

 private:
  // No constant expression: compilers print the name where a dtype is a constant.
  static std::uint16_t lanes_of_unsound_dtype() noexcept { return 1; }
};

/// Bits of one packed element.
constexpr std::int64_t element_bits(dtype t) noexcept { return std::int64_t{t.bits} * t.lanes; }
/// Bytes of one element: bits * lanes, rounded up to whole bytes (spec 1.5).
constexpr std::int64_t element_bytes(dtype t) noexcept { return (element_bits(t) + 7) / 8; }
/// Whether elements may share a byte. Such elements are packed unless flag_padded is set.
constexpr bool is_sub_byte(dtype t) noexcept { return element_bits(t) % 8 != 0; }

/// A row of dtype_rows.
struct dtype_row {
  int code;          ///< The type code, which is also the index of the row.
  char const* name;  ///< The name without the width.
  int fixed_bits;    ///< The only allowed width, or 0 for any width.
  bool is_complex;   ///< Whether one scalar consists of two numbers.
};
/// One row for each type code of DLPack 1.x, also for those that the dlpack.h in use lacks.
DLBRIDGE_LOCAL inline constexpr dtype_row dtype_rows[] = {
    {0, "int", 0, false},
    {1, "uint", 0, false},
    {2, "float", 0, false},
    {3, "opaque", 0, false},
    {4, "bfloat", 0, false},
    {5, "complex", 0, true},
    {6, "bool", 0, false},
    {7, "float8_e3m4", 8, false},
    {8, "float8_e4m3", 8, false},
    {9, "float8_e4m3b11fnuz", 8, false},
    {10, "float8_e4m3fn", 8, false},
    {11, "float8_e4m3fnuz", 8, false},
    {12, "float8_e5m2", 8, false},
    {13, "float8_e5m2fnuz", 8, false},
    {14, "float8_e8m0fnu", 8, false},
    {15, "float6_e2m3fn", 6, false},
    {16, "float6_e3m2fn", 6, false},
    {17, "float4_e2m1fn", 4, false},
    {18, "bcomplex", 0, true},
};
/// The number of type codes.
constexpr int dtype_row_count = sizeof(dtype_rows) / sizeof(dtype_rows[0]);

/// Whether dtype_rows has the code.
constexpr bool is_known(dtype t) noexcept { return t.code < dtype_row_count; }
/// Whether one scalar consists of two numbers.
constexpr bool is_complex(dtype t) noexcept { return is_known(t) && dtype_rows[t.code].is_complex; }

/// Whether a tensor may have this dtype: the code is known, bits and lanes are above 0, and a code
/// with a fixed width has that width (spec 1.4).
constexpr bool is_sound(dtype t) noexcept {
  return is_known(t) && t.bits != 0 && t.lanes != 0 &&
         (dtype_rows[t.code].fixed_bits == 0 || dtype_rows[t.code].fixed_bits == t.bits);
}

/// The text that name_of returns.
using dtype_text = bounded_text<48>;

/// Appends the name of a dtype: "float32", "bool", "float8_e5m2", "int4", or with lanes
/// "float32x4". For a dtype that is not sound it appends the three numbers.
template <class Text>
constexpr Text& append_name(Text& text, dtype t) noexcept;
/// The name of a dtype, as append_name writes it.
DLBRIDGE_COLD dtype_text name_of(dtype t) noexcept;

/// Parses the name of a dtype; the inverse of name_of.
/// @param name A null-terminated name such as "float32"; lanes also as in PyTorch's
///   "float4_e2m1fn_x2".
/// @param[out] out The dtype; unchanged if the name is not valid.
/// @return Whether the name is valid.
bool try_parse_dtype(char const* name, dtype& out) noexcept;

/// The dtype of the C++ type T: bool, integers, float, double and std::byte have one. Specialise it
/// for your own element types:
///
/// @code
/// template <> struct dlbridge::dtype_traits<my_half> {
///   static constexpr dlbridge::dtype value{kDLFloat, 16};
/// };
/// @endcode
///
/// The elements of that dtype have the size of T: bits * lanes is 8 * sizeof(T). Elements that
/// share bytes, such as those of int4, have no C++ type; two of them may be one element with two
/// lanes.
/// @tparam T The element type, without const.
template <class T, class = void>
struct dtype_traits {
  static_assert(
      sizeof(T) == 0,
      "dlbridge: this element type has no DLPack dtype. Specialise "
      "dlbridge::dtype_traits<T>, or include the header of <dlbridge/types/> that defines it");
  static constexpr dtype value{kDLUInt, 8, sizeof(T)};  ///< The dtype of T.
};

/// The dtype of the C++ type T or T const. Builders write this dtype to the struct, and typed views
/// compare the dtype of a tensor with it.
template <class T>
constexpr dtype dtype_of() noexcept;

namespace detail {
template <int Bits, class Of8, class Of16, class Of32, class Of64>
using of_width = std::conditional_t<(Bits <= 16), std::conditional_t<Bits == 8, Of8, Of16>,
                                    std::conditional_t<Bits == 32, Of32, Of64>>;
// The number of C++ that has every value of the dtype of T: T itself, or for a class and an enum
// bool, an integer, float, or double.
template <class T, int Code = dtype_of<T>().code, int Bits = dtype_of<T>().bits>
using number_of = std::conditional_t<
    std::is_arithmetic_v<T>, T,
    std::conditional_t<
        Code == kDLBool, bool,
        std::conditional_t<
            Code == kDLInt, of_width<Bits, std::int8_t, std::int16_t, std::int32_t, std::int64_t>,
            std::conditional_t<
                Code == kDLUInt,
                of_width<Bits, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>,
                std::conditional_t<(Bits > (Code == kDLComplex ? 64 : 32)), double, float>>>>>;

// Whether a number becomes an element of type T: of a class by a constructor from number_of<T>.
// Braces refuse a constructor that loses values, and one from an integer, which would take a float
// for its bits. An aggregate has no constructor: the number would be its first member only.
template <class T, class = void>
constexpr bool constructs_from_number = false;
template <class T>
constexpr bool constructs_from_number<T, std::void_t<decltype(T{std::declval<number_of<T>>()})>> =
    !std::is_aggregate_v<T>;
// An enum has the values of a dtype of integers or bool; with another dtype it holds their bits.
template <class T>
constexpr bool takes_numbers =
    std::is_enum_v<T>                          ? std::is_integral_v<number_of<T>>
    : std::is_class_v<T> || std::is_union_v<T> ? constructs_from_number<T>
                                               : true;
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/dtype.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/dtype.ipp>
#endif
