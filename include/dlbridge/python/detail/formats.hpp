// format_rows: lists the dtypes of Python's buffers and array interfaces, with their names there.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

namespace detail {
// C's long is the type of NumPy's and Python's own integers of its size, so buffers name it and not
// the other type of that size: to NumPy, 'q' is longlong where 'l' is int64.
constexpr bool is_long(int bits) noexcept {
  return sizeof(long) * 8 == static_cast<unsigned>(bits);
}
}  // namespace detail

/// One row for each dtype that has a PEP 3118 format.
struct format_row {
  int code;
  int bits;
  char const* format;  ///< the PEP 3118 format that dlbridge exports
  char kind;           ///< the letter of the dtype in the typestr of array interfaces
};
DLBRIDGE_LOCAL inline constexpr format_row format_rows[] = {
    {kDLBool, 8, "?", 'b'},
    {kDLInt, 8, "b", 'i'},
    {kDLInt, 16, "h", 'i'},
    {kDLInt, 32, detail::is_long(32) ? "l" : "i", 'i'},
    {kDLInt, 64, detail::is_long(64) ? "l" : "q", 'i'},
    {kDLUInt, 8, "B", 'u'},
    {kDLUInt, 16, "H", 'u'},
    {kDLUInt, 32, detail::is_long(32) ? "L" : "I", 'u'},
    {kDLUInt, 64, detail::is_long(64) ? "L" : "Q", 'u'},
    {kDLFloat, 16, "e", 'f'},
    {kDLFloat, 32, "f", 'f'},
    {kDLFloat, 64, "d", 'f'},
    {kDLComplex, 64, "Zf", 'c'},
    {kDLComplex, 128, "Zd", 'c'},
};

namespace detail {
// The number of the row for each code and number of bytes, counted from 1; 0 where there is none.
struct format_index {
  static constexpr int codes = kDLBool + 1;
  static constexpr int sizes = 128 / 8 + 1;
  std::uint8_t row[codes][sizes] = {};

  constexpr format_index() noexcept {
    std::uint8_t number = 0;
    for (format_row const& each : format_rows) {
      row[each.code][each.bits / 8] = ++number;
    }
  }
};
DLBRIDGE_LOCAL inline constexpr format_index format_numbers;
}  // namespace detail

/// @return the row of a dtype; null for one without a format, such as bfloat16 or float32x4.
inline format_row const* find_format(dtype type) noexcept {
  DLDataType const t = type.abi();
  if (t.lanes != 1 || t.code >= detail::format_index::codes || t.bits % 8 != 0 || t.bits > 128) {
    return nullptr;
  }
  int const number = detail::format_numbers.row[t.code][t.bits / 8];
  return number != 0 ? &format_rows[number - 1] : nullptr;
}

namespace detail {
inline bool is_little_endian() noexcept {
  std::uint16_t const one = 1;
  unsigned char first = 0;
  std::memcpy(&first, &one, 1);
  return first == 1;
}

// Skips the byte-order character; returns false when the order is not this machine's.
inline bool read_byte_order(char const*& text, std::int64_t item_bytes) noexcept {
  char const mark = *text;
  bool const is_mark = mark != '\0' && std::strchr("@=<>!|", mark) != nullptr;
  text += is_mark ? 1 : 0;
  if (item_bytes <= 1 || !is_mark || mark == '@' || mark == '=' || mark == '|') {
    return true;
  }
  return (mark == '<') == is_little_endian();
}

inline bool find_kind(char kind, std::int64_t item_bytes, dtype& out) noexcept {
  for (format_row const& each : format_rows) {
    if (each.kind == kind && each.bits == item_bytes * 8) {
      out = dtype(each.code, each.bits);
      return true;
    }
  }
  return false;
}
}  // namespace detail

/// Reads the dtype of a PEP 3118 format.
/// @param format the format of one item; null means unsigned bytes.
/// @param item_bytes the size of an item: that of the letter on this machine, or its standard size.
///   ctypes states the letter of a byte for a union, which has another size.
/// @return false for structures, several items, foreign byte order, an item of another size, and
///   formats without a DLPack dtype.
inline bool try_read_format(char const* format, std::int64_t item_bytes, dtype& out) noexcept {
  format = format == nullptr ? "B" : format;
  if (!detail::read_byte_order(format, item_bytes)) {
    return false;
  }
  bool const is_of_ctypes = *format == 'F' || *format == 'D';  // complex, in CPython 3.14
  bool const complex = *format == 'Z' || is_of_ctypes;
  format += *format == 'Z' ? 1 : 0;
  char const letter = is_of_ctypes ? static_cast<char>(*format - 'A' + 'a') : *format;
  if (letter == '\0' || format[1] != '\0') {
    return false;
  }
  struct group {
    char kind;
    char const* letters;
    std::int64_t standard_bytes;
    std::int64_t native_bytes;
  };
  constexpr group groups[] = {
      {'b', "?", 1, 1},
      {'i', "b", 1, 1},
      {'u', "B", 1, 1},
      {'i', "h", 2, sizeof(short)},
      {'u', "H", 2, sizeof(short)},
      {'i', "i", 4, sizeof(int)},
      {'u', "I", 4, sizeof(int)},
      {'i', "l", 4, sizeof(long)},
      {'u', "L", 4, sizeof(long)},
      {'i', "q", 8, sizeof(long long)},
      {'u', "Q", 8, sizeof(long long)},
      {'i', "n", sizeof(void*), sizeof(void*)},
      {'u', "NP", sizeof(void*), sizeof(void*)},
      {'f', "e", 2, 2},
      {'f', "f", 4, 4},
      {'f', "d", 8, 8},
  };
  std::int64_t const number_bytes = complex ? item_bytes / 2 : item_bytes;
  for (group const& each : groups) {
    if (std::strchr(each.letters, letter) != nullptr) {
      bool const has_size =
          number_bytes == each.standard_bytes || number_bytes == each.native_bytes;
      bool const is_sound = has_size && (!complex || each.kind == 'f');
      return is_sound && detail::find_kind(complex ? 'c' : each.kind, item_bytes, out);
    }
  }
  return false;
}

/// Reads the dtype of the typestr of an array interface, such as "<f4".
/// @param item_bytes set to the size of an item.
/// @return false as try_read_format.
inline bool try_read_typestr(char const* typestr, std::int64_t& item_bytes, dtype& out) noexcept {
  std::size_t const length = std::strlen(typestr);
  if (length < 3 || length > 4) {
    return false;
  }
  item_bytes = 0;
  for (char const* digit = typestr + 2; *digit != '\0'; ++digit) {
    if (*digit < '0' || *digit > '9') {
      return false;
    }
    item_bytes = item_bytes * 10 + (*digit - '0');
  }
  char const kind = typestr[1];
  return detail::read_byte_order(typestr, item_bytes) && detail::find_kind(kind, item_bytes, out);
}

/// What to pass in place of x, an array of a typestr that try_read_typestr refuses.
DLBRIDGE_COLD inline char const* remedy_for_typestr(char const* typestr) noexcept {
  constexpr char const* in_order = "Pass x.astype(x.dtype.newbyteorder('='))";
  bool const is_native = detail::read_byte_order(typestr, 2);
  switch (*typestr) {
    case 'M':
    case 'm':
      return is_native ? "Pass its integers, x.view('i8')" : "Pass its integers, x.astype('i8')";
    case 'O':
      return "Pass its numbers, as x.astype('f8')";
    case 'S':  // also as StringDType()
    case 'T':
    case 'U':
      return "Pass numbers for its texts, as numpy.unique(x, return_inverse=True)[1]";
    case 'V':  // records, bytes and, with a byte order, dtypes of ml_dtypes
      return is_native ? "Pass a field, as x[x.dtype.names[0]].copy(), or "
                         "numpy.frombuffer(x.tobytes(), 'u1')"
                       : in_order;
    default:
      return !is_native        ? in_order
             : *typestr == 'c' ? "Pass x.astype('c16')"
                               : "Pass x.astype('f8')";
  }
}

/// The typestr of a row, such as "<f4" for float32.
inline bounded_text<8> typestr_of(format_row const& row) noexcept {
  bounded_text<8> text(row.bits == 8 ? "|" : detail::is_little_endian() ? "<" : ">");
  return text.append(&row.kind, 1).append(std::int64_t{row.bits / 8});
}

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
