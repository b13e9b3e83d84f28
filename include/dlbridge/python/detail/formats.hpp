// format_rows: lists the dtypes of Python's buffers and array interfaces, with their names there.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
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

/// @return the row of a dtype; null for one without a format, such as bfloat16 or float32x4.
format_row const* find_format(dtype type) noexcept;

namespace detail {
bool is_little_endian() noexcept;

// Skips the byte-order character; returns false when the order is not this machine's.
bool read_byte_order(char const*& text, std::int64_t item_bytes) noexcept;

bool find_kind(char kind, std::int64_t item_bytes, dtype& out) noexcept;
}  // namespace detail

/// Reads the dtype of a PEP 3118 format.
/// @param format the format of one item; null means unsigned bytes.
/// @param item_bytes the size of an item: that of the letter on this machine, or its standard size.
///   ctypes states the letter of a byte for a union, which has another size.
/// @return false for structures, several items, foreign byte order, an item of another size, and
///   formats without a DLPack dtype.
bool try_read_format(char const* format, std::int64_t item_bytes, dtype& out) noexcept;

/// Reads the dtype of the typestr of an array interface, such as "<f4".
/// @param item_bytes set to the size of an item.
/// @return false as try_read_format.
bool try_read_typestr(char const* typestr, std::int64_t& item_bytes, dtype& out) noexcept;

/// What to pass in place of x, an array of a typestr that try_read_typestr refuses.
DLBRIDGE_COLD char const* remedy_for_typestr(char const* typestr) noexcept;

/// What the elements of such a typestr are, such as " (text)"; "" for other numbers and structures.
DLBRIDGE_COLD char const* words_for_typestr(char const* typestr) noexcept;

/// The typestr of a row, such as "<f4" for float32.
bounded_text<8> typestr_of(format_row const& row) noexcept;
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/detail/formats.ipp>
#endif
