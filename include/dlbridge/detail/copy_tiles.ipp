// transpose_tiles and transpose_squares: copy a matrix whose columns become rows, by blocks that
// registers transpose.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/detail/copy_kernel.hpp>
#include <dlbridge/detail/copy_registers.ipp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
inline namespace DLBRIDGE_COPY_KERNELS {
// The rows of the source are contiguous, and so are its columns in the destination. Pitches are in
// bytes, and may be negative.
struct transposition {
  char const* source;
  char* destination;
  std::ptrdiff_t rows;
  std::ptrdiff_t columns;
  std::ptrdiff_t pitch;              // from one row to the next, in source
  std::ptrdiff_t destination_pitch;  // from one column to the next, in destination
};

// A tile is 64 bytes, which is one cache line, in each direction.
template <int Bytes>
constexpr std::ptrdiff_t tile_extent = 64 / Bytes;

constexpr std::ptrdiff_t lesser(std::ptrdiff_t a, std::ptrdiff_t b) noexcept {
  return a < b ? a : b;
}

// Transposes a part of `from` that has at least the extents of a block. The last block of each row
// and column overlaps the one before, so that no elements remain.
template <int Bytes, int Lanes>
DLBRIDGE_INLINE void transpose_blocks(char const* from, std::ptrdiff_t pitch, std::ptrdiff_t rows,
                                      std::ptrdiff_t columns, char* to,
                                      std::ptrdiff_t to_pitch) noexcept {
  constexpr std::ptrdiff_t high = block_rows<Bytes, Lanes>;
  constexpr std::ptrdiff_t wide = block_columns<Bytes>;
  for (std::ptrdiff_t i = 0; i < rows; i += high) {
    std::ptrdiff_t const row = lesser(i, rows - high);
    for (std::ptrdiff_t j = 0; j < columns; j += wide) {
      std::ptrdiff_t const column = lesser(j, columns - wide);
      transpose_block<Bytes, Lanes>(from + row * pitch + column * Bytes, pitch,
                                    to + column * to_pitch + row * Bytes, to_pitch);
    }
  }
}

// For matrices in the cache: writes each line of the destination once, tile by tile, in the order
// of the destination.
template <int Bytes, int Lanes>
DLBRIDGE_INLINE void transpose_tiles(transposition const& t) noexcept {
  constexpr std::ptrdiff_t tile = tile_extent<Bytes>;
  constexpr std::ptrdiff_t high = block_rows<Bytes, Lanes>;
  constexpr std::ptrdiff_t wide = block_columns<Bytes>;
  for (std::ptrdiff_t j = 0; j < t.columns; j += tile) {
    std::ptrdiff_t const column = lesser(j, t.columns - wide);
    for (std::ptrdiff_t i = 0; i < t.rows; i += tile) {
      std::ptrdiff_t const row = lesser(i, t.rows - high);
      transpose_blocks<Bytes, Lanes>(t.source + row * t.pitch + column * Bytes, t.pitch,
                                     lesser(tile, t.rows - row), lesser(tile, t.columns - column),
                                     t.destination + column * t.destination_pitch + row * Bytes,
                                     t.destination_pitch);
    }
  }
}

// For matrices beyond the cache: requests lines before it needs them, and works on squares of 1
// KiB, whose pages fit the translation cache. If every line of the destination begins at a tile, it
// transposes tiles into a buffer and stores them past the cache.
template <int Bytes, int Lanes>
DLBRIDGE_INLINE void transpose_squares(transposition const& t) noexcept {
  constexpr std::ptrdiff_t tile = tile_extent<Bytes>;
  constexpr std::ptrdiff_t square = 16 * tile;
  constexpr std::ptrdiff_t high = block_rows<Bytes, Lanes>;
  constexpr std::ptrdiff_t wide = block_columns<Bytes>;
  alignas(64) char buffer[static_cast<std::size_t>(tile) * 64];
  bool const has_aligned_lines =
      t.destination_pitch % 64 == 0 && reinterpret_cast<std::uintptr_t>(t.destination) % 64 == 0;
  for (std::ptrdiff_t top = 0; top < t.rows; top += square) {
    std::ptrdiff_t const bottom = lesser(top + square, t.rows);
    for (std::ptrdiff_t left = 0; left < t.columns; left += square) {
      std::ptrdiff_t const right = lesser(left + square, t.columns);
      for (std::ptrdiff_t i = top; i < bottom; i += tile) {
        std::ptrdiff_t const row = lesser(i, t.rows - high);
        std::ptrdiff_t const rows = lesser(tile, t.rows - row);
        for (std::ptrdiff_t j = left; j < right; j += tile) {
          std::ptrdiff_t const column = lesser(j, t.columns - wide);
          std::ptrdiff_t const columns = lesser(tile, t.columns - column);
          char const* const from = t.source + row * t.pitch + column * Bytes;
          char* const to = t.destination + column * t.destination_pitch + row * Bytes;
          for (std::ptrdiff_t k = 0; k < rows && column + 3 * tile <= t.columns; ++k) {
            prefetch(from + k * t.pitch + 128);
          }
          if (has_aligned_lines && rows == tile && columns == tile) {
            transpose_blocks<Bytes, Lanes>(from, t.pitch, tile, tile, buffer, 64);
            for (std::ptrdiff_t k = 0; k < tile; ++k) {
              stream_line(to + k * t.destination_pitch, buffer + k * 64);
            }
            continue;
          }
          for (std::ptrdiff_t k = 0; k < tile && column + 2 * tile <= t.columns; ++k) {
            prefetch_to_write(to + (tile + k) * t.destination_pitch);
          }
          transpose_blocks<Bytes, Lanes>(from, t.pitch, rows, columns, to, t.destination_pitch);
        }
      }
    }
  }
}

template <int Bytes, int Lanes>
DLBRIDGE_INLINE void transpose_with(transposition const& t, bool streams) noexcept {
  streams ? transpose_squares<Bytes, Lanes>(t) : transpose_tiles<Bytes, Lanes>(t);
}
#if defined(DLBRIDGE_AVX2)
template <int Bytes>
DLBRIDGE_AVX2 void transpose_by_avx2(transposition const& t, bool streams) noexcept {
  transpose_with<Bytes, 2>(t, streams);
}
#endif

// Whether a matrix has the extents of a block without AVX2, as transpose requires, and copies
// faster by tiles than by rows. Large elements gain from tiles only if the lines of a column do not
// share the cache lines of the processor evenly, as with a pitch of a power of two.
template <int Bytes>
bool profits_from_tiles(transposition const& t) noexcept {
  std::ptrdiff_t const pitch = t.pitch < 0 ? -t.pitch : t.pitch;
  return pitch != 0 && t.rows >= block_rows<Bytes, 1> && t.columns >= block_columns<Bytes> &&
         (Bytes < 8 || pitch > 64) && (Bytes < 16 || pitch % 512 == 0);
}

template <int Bytes>
void transpose(transposition const& t, copy_kernel kernel, bool streams) noexcept {
#if defined(DLBRIDGE_AVX2)
  if (kernel == copy_kernel::vector32 && t.rows >= block_rows<Bytes, 2>) {
    return transpose_by_avx2<Bytes>(t, streams);
  }
#endif
#if DLBRIDGE_VECTORS
  if (kernel != copy_kernel::portable) {
    return transpose_with<Bytes, 1>(t, streams);
  }
#endif
  static_cast<void>(kernel);
  transpose_with<Bytes, 0>(t, streams);
}
}  // namespace DLBRIDGE_COPY_KERNELS
}  // namespace detail
DLBRIDGE_END_NAMESPACE
