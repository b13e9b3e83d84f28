// copy_runs and fill_rows: copy rows of contiguous and of equal elements.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <dlbridge/abi.hpp>
#include <dlbridge/detail/copy_kernel.hpp>
#include <dlbridge/detail/copy_plan.hpp>
#include <dlbridge/detail/copy_registers.ipp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
inline namespace DLBRIDGE_COPY_KERNELS {
inline std::int64_t length(std::int64_t step) noexcept { return step < 0 ? -step : step; }

// Rows in two dimensions of a copy. Steps are in bytes.
struct row_set {
  char const* source;
  char* destination;
  copy_dimension outer;
  copy_dimension inner;

  char const* source_row(std::int64_t i) const noexcept { return source + i * outer.source; }
  char* destination_row(std::int64_t i) const noexcept {
    return destination + i * outer.destination;
  }
};

// Copies rows of Block to 2 * Block bytes, by two blocks that overlap. The rows are passed by
// value, as a store through a pointer of type char could change what a reference refers to.
template <std::size_t Block>
void copy_short_runs(row_set const rows, std::size_t bytes) noexcept {
  for (std::int64_t i = 0; i < rows.outer.extent; ++i) {
    char const* const from = rows.source_row(i);
    char* const to = rows.destination_row(i);
    std::memcpy(to, from, Block);
    std::memcpy(to + bytes - Block, from + bytes - Block, Block);
  }
}

// Copies rows of at least 16 bytes. The last 16 bytes of a row overlap those before.
inline void copy_medium_runs(row_set const rows, std::size_t bytes) noexcept {
  for (std::int64_t i = 0; i < rows.outer.extent; ++i) {
    char const* const from = rows.source_row(i);
    char* const to = rows.destination_row(i);
    for (std::size_t k = 0; k + 16 < bytes; k += 16) {
      std::memcpy(to + k, from + k, 16);
    }
    std::memcpy(to + bytes - 16, from + bytes - 16, 16);
  }
}

// Whether rows gain from stores past the cache: the gaps between rows of the source are short,
// compared with the rows; and the rows follow each other in the destination, or are so long that
// the parts of lines at both ends, which are stored to the cache, cost less than that saves.
inline bool profits_from_streaming(row_set const& rows, std::int64_t bytes) noexcept {
  std::int64_t const gap = rows.outer.source - bytes;
  return rows.outer.extent == 1 ||
         (gap >= 0 && gap <= bytes / 4 && (rows.outer.destination == bytes || bytes >= 1024));
}

// Copies rows with short gaps, of at least 64 bytes, past the cache. Where the rows follow each
// other in the destination, a line that begins in one row and ends in the next is put together
// first.
inline void stream_rows(row_set const& rows, std::size_t bytes) noexcept {
  auto const size = static_cast<std::int64_t>(bytes);
  // Processors that request lines of the source on their own stop at a gap. Requests that reach to
  // the end of the gap, and not beyond, keep them going.
  auto const gap =
      rows.outer.extent > 1 ? static_cast<std::size_t>(rows.outer.source - size) / 64 * 64 : 0;
  std::size_t const ahead = gap > usual_ahead ? gap : usual_ahead;
  if (rows.outer.destination != size) {
    for (std::int64_t i = 0; i < rows.outer.extent; ++i) {
      stream_bytes(rows.destination_row(i), rows.source_row(i), bytes, ahead);
    }
    return;
  }
  char line[64];
  char* to = rows.destination;
  std::size_t done = bytes_to_line(to);  // bytes of this row
  std::memcpy(to, rows.source, done);
  to += done;
  std::size_t begun = 0;  // bytes in line
  for (std::int64_t i = 0; i < rows.outer.extent; ++i) {
    char const* const from = rows.source_row(i);
    if (begun != 0) {
      done = 64 - begun;
      std::memcpy(line + begun, from, done);
      stream_line(to, line);
      to += 64;
    }
    std::size_t const streamed = stream_lines(to, from + done, bytes - done, ahead);
    to += streamed;
    begun = bytes - done - streamed;
    std::memcpy(line, from + bytes - begun, begun);
    done = 0;
  }
  std::memcpy(to, line, begun);
}

// Copies rows that are contiguous on both sides.
inline void copy_runs(row_set const& rows, std::size_t bytes, bool streams) noexcept {
  constexpr std::size_t long_run = 256;  // from here on, a call of memcpy costs less than a loop
  if (bytes < long_run) {
    return bytes >= 32   ? copy_medium_runs(rows, bytes)
           : bytes >= 16 ? copy_short_runs<16>(rows, bytes)
           : bytes >= 8  ? copy_short_runs<8>(rows, bytes)
           : bytes >= 4  ? copy_short_runs<4>(rows, bytes)
           : bytes >= 2  ? copy_short_runs<2>(rows, bytes)
                         : copy_short_runs<1>(rows, bytes);
  }
  if (streams && profits_from_streaming(rows, static_cast<std::int64_t>(bytes))) {
    return stream_rows(rows, bytes);
  }
  for (std::int64_t i = 0; i < rows.outer.extent; ++i) {
    std::memcpy(rows.destination_row(i), rows.source_row(i), bytes);
  }
}

// Repeats one element until 16 bytes are full.
template <int Bytes>
DLBRIDGE_INLINE void repeat_element(char const* element, char* pattern) noexcept {
#if DLBRIDGE_VECTORS
  if constexpr (Bytes < 16) {
    using reg = typename copy_register<Bytes, 1>::type;
    typename unsigned_of<Bytes>::type value;
    std::memcpy(&value, element, sizeof value);
    reg const filled = value - reg{};
    std::memcpy(pattern, &filled, 16);
    return;
  }
#endif
  for (std::size_t k = 0; k < 16; k += Bytes) {
    std::memcpy(pattern + k, element, static_cast<std::size_t>(Bytes));
  }
}

// A part of a row that the compiler keeps in a register, or in several. In a struct GCC would keep
// it in halves.
#if DLBRIDGE_VECTORS
using fill_unit = copy_register<1, 1>::type;
#else
struct fill_unit {
  unsigned char bytes[16];
};
#endif

// Fills a row of at least one unit. The last unit overlaps the one before.
template <class Unit>
DLBRIDGE_INLINE void fill_by_units(char* to, std::size_t bytes, Unit const& unit) noexcept {
  constexpr std::size_t size = sizeof(Unit);
  std::size_t k = 0;
  for (; k + 4 * size <= bytes; k += 4 * size) {
    std::memcpy(to + k, &unit, size);
    std::memcpy(to + k + size, &unit, size);
    std::memcpy(to + k + 2 * size, &unit, size);
    std::memcpy(to + k + 3 * size, &unit, size);
  }
  for (; k + size < bytes; k += size) {
    std::memcpy(to + k, &unit, size);
  }
  std::memcpy(to + bytes - size, &unit, size);
}
#if defined(DLBRIDGE_AVX2)
DLBRIDGE_AVX2 inline void fill_by_avx2(char* to, std::size_t bytes, char const* pattern) noexcept {
  copy_register<8, 1>::type half;  // a load of 32 bytes would wait for the stores of both
  std::memcpy(&half, pattern, sizeof half);
  fill_by_units(to, bytes, __builtin_shufflevector(half, half, 0, 1, 0, 1));
}
#endif

// Fills a row with a pattern of 16 bytes.
DLBRIDGE_INLINE void fill_row(char* to, std::size_t bytes, char const* pattern,
                              copy_kernel kernel) noexcept {
#if defined(DLBRIDGE_AVX2)
  if (bytes >= 128 && kernel == copy_kernel::vector32) {
    return fill_by_avx2(to, bytes, pattern);
  }
#else
  static_cast<void>(kernel);
#endif
  if (bytes >= 16) {
    fill_unit unit;
    std::memcpy(&unit, pattern, sizeof unit);
    return fill_by_units(to, bytes, unit);
  }
  for (std::size_t size = 8; size != 0; size /= 2) {
    if ((bytes & size) != 0) {
      std::memcpy(to, pattern, size);
      to += size;
    }
  }
}

// Fills the lines of a row past the cache. Returns the number of bytes that it filled: all but the
// last, less than 64. pattern has 128 bytes, so that a line may begin inside an element.
template <int Bytes>
std::size_t stream_row(char* to, std::size_t bytes, char const* pattern) noexcept {
  std::size_t k = (64 - (reinterpret_cast<std::uintptr_t>(to) & 63)) & 63;
  std::memcpy(to, pattern, k);
  for (; k + 64 <= bytes; k += 64) {
    stream_line(to + k, pattern + k % Bytes);
  }
  return k;
}

// Copies rows whose elements are all equal, because the step of the source is 0, to contiguous
// ones.
template <int Bytes>
void fill_rows(row_set const& rows, copy_kernel kernel, bool may_stream) noexcept {
  std::size_t const bytes = static_cast<std::size_t>(rows.inner.extent) * Bytes;
  bool const streams = may_stream && bytes >= 8192;  // as in copy_runs, but fills read no memory
  char pattern[128];
  for (std::int64_t i = 0; i < rows.outer.extent; ++i) {
    char* const to = rows.destination_row(i);
    if (Bytes == 1 && !streams) {
      std::memset(to, *rows.source_row(i), bytes);
      continue;
    }
    repeat_element<Bytes>(rows.source_row(i), pattern);
    if (!streams) {
      fill_row(to, bytes, pattern, kernel);
      continue;
    }
    for (std::size_t k = 16; k < sizeof pattern; k += 16) {
      std::memcpy(pattern + k, pattern, 16);
    }
    std::size_t const filled = stream_row<Bytes>(to, bytes, pattern);
    std::memcpy(to + filled, pattern + filled % Bytes, bytes - filled);
  }
}
}  // namespace DLBRIDGE_COPY_KERNELS
}  // namespace detail
DLBRIDGE_END_NAMESPACE
