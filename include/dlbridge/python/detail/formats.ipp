// The bodies of formats.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstring>

#include <dlbridge/python/detail/formats.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
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

DLBRIDGE_API format_row const* find_format(dtype type) noexcept {
  DLDataType const t = type.abi();
  if (t.lanes != 1 || t.code >= detail::format_index::codes || t.bits % 8 != 0 || t.bits > 128) {
    return nullptr;
  }
  int const number = detail::format_numbers.row[t.code][t.bits / 8];
  return number != 0 ? &format_rows[number - 1] : nullptr;
}

namespace detail {
DLBRIDGE_API bool is_little_endian() noexcept {
  std::uint16_t const one = 1;
  unsigned char first = 0;
  std::memcpy(&first, &one, 1);
  return first == 1;
}

DLBRIDGE_API bool read_byte_order(char const*& text, std::int64_t item_bytes) noexcept {
  char const mark = *text;
  bool const is_mark = mark != '\0' && std::strchr("@=<>!|", mark) != nullptr;
  text += is_mark ? 1 : 0;
  if (item_bytes <= 1 || !is_mark || mark == '@' || mark == '=' || mark == '|') {
    return true;
  }
  return (mark == '<') == is_little_endian();
}

DLBRIDGE_API bool find_kind(char kind, std::int64_t item_bytes, dtype& out) noexcept {
  for (format_row const& each : format_rows) {
    if (each.kind == kind && each.bits == item_bytes * 8) {
      out = dtype(each.code, each.bits);
      return true;
    }
  }
  return false;
}
}  // namespace detail

DLBRIDGE_API bool try_read_format(char const* format, std::int64_t item_bytes,
                                  dtype& out) noexcept {
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

DLBRIDGE_API bool try_read_typestr(char const* typestr, std::int64_t& item_bytes,
                                   dtype& out) noexcept {
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

DLBRIDGE_NOINLINE DLBRIDGE_API char const* remedy_for_typestr(char const* typestr) noexcept {
  constexpr char const* in_order = "Pass x.astype(x.dtype.newbyteorder('='))";
  bool const is_native = detail::read_byte_order(typestr, 2);
  switch (*typestr) {
    case 'M':
    case 'm':
      return "Pass its integers, x.astype('i8')";
    case 'O':
      return "Pass x.astype('f8') if its items are numbers, or their codes, numpy.unique(x, "
             "return_inverse=True)[1]";
    case 'S':  // also as StringDType()
    case 'T':
    case 'U':
      return "Pass x.astype('f8') if its texts are numbers, or their codes, numpy.unique(x, "
             "return_inverse=True)[1]";
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

DLBRIDGE_NOINLINE DLBRIDGE_API char const* words_for_typestr(char const* typestr) noexcept {
  detail::read_byte_order(typestr, 1);
  char const kind = *typestr;
  return kind == 'M'                                 ? " (dates)"
         : kind == 'm'                               ? " (durations)"
         : kind == 'O'                               ? " (objects)"
         : kind == 'S' || kind == 'T' || kind == 'U' ? " (text)"
                                                     : "";
}

DLBRIDGE_API bounded_text<8> typestr_of(format_row const& row) noexcept {
  bounded_text<8> text(row.bits == 8 ? "|" : detail::is_little_endian() ? "<" : ">");
  return text.append(&row.kind, 1).append(std::int64_t{row.bits / 8});
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
