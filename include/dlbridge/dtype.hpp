// The value type dtype, the one table of type codes, element bytes, and dtype_of<T> with its public
// hook.
// layer: values · what an element is
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// Kind of scalar, bits of one scalar, and scalars per element (spec 1.4, 1.5). Complex numbers
/// count whole: complex64 has 64 bits. Shape and strides count elements, whatever the lanes.
struct dtype {
  std::uint8_t code = 0;
  std::uint8_t bits = 0;
  std::uint16_t lanes = 0;

  constexpr dtype() noexcept = default;
  constexpr dtype(int code_, int bits_, int lanes_ = 1) noexcept
      : code(static_cast<std::uint8_t>(code_)),
        bits(static_cast<std::uint8_t>(bits_)),
        lanes(static_cast<std::uint16_t>(lanes_)) {}
  explicit constexpr dtype(DLDataType abi) noexcept
      : code(abi.code), bits(abi.bits), lanes(abi.lanes) {}
  constexpr DLDataType abi() const noexcept { return {code, bits, lanes}; }

  friend constexpr bool operator==(dtype a, dtype b) noexcept {
    return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
  }
  friend constexpr bool operator!=(dtype a, dtype b) noexcept { return !(a == b); }
};

/// Bits of one element when packed.
constexpr std::int64_t element_bits(dtype t) noexcept { return std::int64_t{t.bits} * t.lanes; }
/// Bytes of one element on its own: bits * lanes rounded up to bytes (spec 1.5).
constexpr std::int64_t element_bytes(dtype t) noexcept { return (element_bits(t) + 7) / 8; }
/// Whether several elements may share a byte; such tensors are packed unless flag_padded says so.
constexpr bool is_sub_byte(dtype t) noexcept { return element_bits(t) % 8 != 0; }

/// One row for each type code: its name without width, the width it must have (0: any), and whether
/// one scalar is a pair of numbers. Later versions of dlpack.h introduced some of the codes; the
/// table has all of them, so that refusals name them.
struct dtype_row {
  int code;
  char const* name;
  int fixed_bits;
  bool is_complex;
};
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
constexpr int dtype_row_count = sizeof(dtype_rows) / sizeof(dtype_rows[0]);

constexpr bool is_known(dtype t) noexcept { return t.code < dtype_row_count; }
constexpr bool is_complex(dtype t) noexcept { return is_known(t) && dtype_rows[t.code].is_complex; }

/// Whether a tensor of this type can be described at all: a known code, bits and lanes above zero,
/// and the one width that narrow floats may have (spec 1.4).
constexpr bool is_sound(dtype t) noexcept {
  return is_known(t) && t.bits != 0 && t.lanes != 0 &&
         (dtype_rows[t.code].fixed_bits == 0 || dtype_rows[t.code].fixed_bits == t.bits);
}

using dtype_text = bounded_text<48>;

/// Appends the field's name for it: "float32", "bool", "float8_e5m2", "int4", and with lanes
/// "float32x4". A type that is not sound shows its numbers.
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
DLBRIDGE_COLD inline dtype_text name_of(dtype t) noexcept {
  dtype_text text;
  return append_name(text, t);
}

/// The type that a name stands for; the inverse of name_of. False, and nothing written, when there
/// is none.
inline bool try_parse_dtype(char const* name, dtype& out) noexcept {
  std::size_t longest = 0;  // "float8_e4m3fn" begins with "float8_e4m3" and with "float"
  int code = -1;
  for (dtype_row const& each : dtype_rows) {
    std::size_t const length = std::strlen(each.name);
    if (length > longest && std::strncmp(name, each.name, length) == 0) {
      longest = length;
      code = each.code;
    }
  }
  if (code < 0) {
    return false;
  }
  char const* rest = name + longest;
  auto number = [&rest](unsigned limit, unsigned& value) {
    char const* const first = rest;
    for (value = 0; *rest >= '0' && *rest <= '9' && value <= limit; ++rest) {
      value = value * 10 + static_cast<unsigned>(*rest - '0');
    }
    return rest != first && *first != '0' && value <= limit;
  };
  bool const is_bare_bool = code == 6 && (*rest == '\0' || *rest == 'x');
  unsigned bits = is_bare_bool ? 8 : static_cast<unsigned>(dtype_rows[code].fixed_bits);
  unsigned lanes = 1;
  if (bits == 0 && !number(255, bits)) {
    return false;
  }
  if (*rest == 'x') {
    ++rest;
    if (!number(65535, lanes)) {
      return false;
    }
  }
  if (*rest != '\0') {
    return false;
  }
  out = dtype(code, static_cast<int>(bits), static_cast<int>(lanes));
  return true;
}

/// The public hook: how a C++ element type is called in DLPack. Specialise it outside this library,
///   template <> struct dlbridge::dtype_traits<my_half> {
///     static constexpr dlbridge::dtype value{kDLFloat, 16};
///   };
template <class T, class = void>
struct dtype_traits {
  static_assert(
      sizeof(T) == 0,
      "dlbridge: this element type has no DLPack dtype. Specialise "
      "dlbridge::dtype_traits<T>, or include the header of <dlbridge/types/> that has it");
};
template <>
struct dtype_traits<bool> {
  static_assert(sizeof(bool) == 1, "DLPack's bool has one byte");
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

/// The dtype of a C++ element type. One function for both directions: importers compare with it.
template <class T>
constexpr dtype dtype_of() noexcept {
  return dtype_traits<std::remove_cv_t<T>>::value;
}

// The table is written in integers, so that an older dlpack.h still names newer codes; where the
// header has the enumerator, it must agree.
static_assert(kDLInt == 0 && kDLUInt == 1 && kDLFloat == 2 && kDLOpaqueHandle == 3 &&
              kDLBfloat == 4 && kDLComplex == 5 && kDLBool == 6);
#if DLBRIDGE_DLPACK_AT_LEAST(1)
static_assert(kDLFloat8_e3m4 == 7 && kDLFloat8_e4m3 == 8 && kDLFloat8_e4m3b11fnuz == 9 &&
              kDLFloat8_e4m3fn == 10 && kDLFloat8_e4m3fnuz == 11 && kDLFloat8_e5m2 == 12 &&
              kDLFloat8_e5m2fnuz == 13 && kDLFloat8_e8m0fnu == 14 && kDLFloat6_e2m3fn == 15 &&
              kDLFloat6_e3m2fn == 16 && kDLFloat4_e2m1fn == 17);
#endif

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
