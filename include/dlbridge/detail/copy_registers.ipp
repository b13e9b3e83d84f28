// The register kernels: transpose a block of elements in registers, gather elements
// by shuffles, and store past the cache.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/detail/copy_kernel.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
inline namespace DLBRIDGE_COPY_KERNELS {
inline void prefetch(char const* address) noexcept {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#else
  static_cast<void>(address);
#endif
}

inline void prefetch_to_write(char const* address) noexcept {
#if defined(__GNUC__)
  __builtin_prefetch(address, 1);
#else
  static_cast<void>(address);
#endif
}

// The rows and columns of the source that transpose_block transposes.
template <int Bytes, int Lanes>
constexpr int block_rows = (Lanes == 0 ? 1 : Lanes) * (16 / Bytes);
template <int Bytes>
constexpr int block_columns = 16 / Bytes;

template <int Bytes>
struct unsigned_of;
template <>
struct unsigned_of<1> {
  using type = std::uint8_t;
};
template <>
struct unsigned_of<2> {
  using type = std::uint16_t;
};
template <>
struct unsigned_of<4> {
  using type = std::uint32_t;
};
template <>
struct unsigned_of<8> {
  using type = std::uint64_t;
};
template <>
struct unsigned_of<16> : unsigned_of<8> {};  // is never divided

#if DLBRIDGE_VECTORS
// A register of 16 bytes in each lane.
template <int Bytes, int Lanes>
struct copy_register {
  typedef typename unsigned_of<Bytes>::type type __attribute__((vector_size(16 * Lanes)));
};

// The functions below are inlined into functions with the attribute DLBRIDGE_AVX2. They pass
// registers by reference, because the way to pass 32 bytes by value depends on that attribute.

// The index into two registers, one after the other, that yields element i of the interleaved low
// or high halves of each lane.
template <int Bytes, int Lanes>
constexpr int interleaved(int i, bool high) {
  int const in_lane = 16 / Bytes;
  int const lane = i / in_lane * in_lane;
  return lane + (high ? in_lane / 2 : 0) + i % in_lane / 2 + i % 2 * in_lane * Lanes;
}

template <int Bytes, int Lanes, bool High, class Register, int... Is>
DLBRIDGE_INLINE void interleave(Register& to, Register const& a, Register const& b,
                                std::integer_sequence<int, Is...>) noexcept {
#if defined(__clang__) || __GNUC__ >= 12
  to = __builtin_shufflevector(a, b, interleaved<Bytes, Lanes>(Is, High)...);
#else
  to = __builtin_shuffle(a, b, Register{interleaved<Bytes, Lanes>(Is, High)...});
#endif
}

// Loads the lanes of a register, one or two, from two addresses.
template <int Bytes, class Register, int... Is>
DLBRIDGE_INLINE void load_lanes(Register& to, char const* first, char const* last,
                                std::integer_sequence<int, Is...>) noexcept {
  if constexpr (sizeof(Register) == 16) {
    std::memcpy(&to, first, 16);
  } else {
    typename copy_register<Bytes, 1>::type low, high;
    std::memcpy(&low, first, 16);
    std::memcpy(&high, last, 16);
    to = __builtin_shufflevector(low, high, Is...);
  }
}

// Transposes by log2(N) rounds, each of which interleaves the first half of the registers with the
// second half. Lane l begins with the rows l * N to l * N + N - 1, where N = sizeof...(Is).
template <int Bytes, int Lanes, int... Is>
DLBRIDGE_INLINE void transpose_registers(char const* source, std::ptrdiff_t pitch, char* to,
                                         std::ptrdiff_t to_pitch,
                                         std::integer_sequence<int, Is...>) noexcept {
  using reg = typename copy_register<Bytes, Lanes>::type;
  using elements = std::make_integer_sequence<int, 16 * Lanes / (Bytes == 16 ? 8 : Bytes)>;
  constexpr int n = sizeof...(Is);
  reg rows[std::size_t{n}];
  (load_lanes<Bytes>(rows[Is], source + Is * pitch, source + (n * (Lanes - 1) + Is) * pitch,
                     elements{}),
   ...);
  for (int round = 1; round < n; round *= 2) {
    reg const former[std::size_t{n}] = {rows[Is]...};
    (interleave < Bytes, Lanes,
     Is % 2 != 0 > (rows[Is], former[Is / 2], former[(Is + n) / 2], elements{}), ...);
  }
  (std::memcpy(to + Is * to_pitch, &rows[Is], 16 * Lanes), ...);
}
#else
template <int Bytes, int Lanes, int... Is>
void transpose_registers(char const*, std::ptrdiff_t, char*, std::ptrdiff_t,
                         std::integer_sequence<int, Is...>) noexcept;
#endif

// Copies the columns of a block to rows, one element after the other.
template <int Bytes, int Lanes>
DLBRIDGE_INLINE void transpose_elements(char const* source, std::ptrdiff_t pitch, char* to,
                                        std::ptrdiff_t to_pitch) noexcept {
  for (int column = 0; column < block_columns<Bytes>; ++column) {
    for (int row = 0; row < block_rows<Bytes, Lanes>; ++row) {
      std::memcpy(to + column * to_pitch + row * Bytes, source + row * pitch + column * Bytes,
                  static_cast<std::size_t>(Bytes));
    }
  }
}

// Copies the columns of a block to rows. pitch: from one row to the next. Lanes: 0 without
// registers. The block has block_rows x block_columns elements.
template <int Bytes, int Lanes>
DLBRIDGE_INLINE void transpose_block(char const* source, std::ptrdiff_t pitch, char* to,
                                     std::ptrdiff_t to_pitch) noexcept {
  if constexpr (DLBRIDGE_VECTORS != 0 && Lanes != 0) {
    transpose_registers<Bytes, Lanes>(source, pitch, to, to_pitch,
                                      std::make_integer_sequence<int, block_columns<Bytes>>{});
  } else {
    transpose_elements<Bytes, Lanes>(source, pitch, to, to_pitch);
  }
}

#if defined(__SSE2__) && defined(__GNUC__)
typedef long long streamed_unit __attribute__((vector_size(16)));
DLBRIDGE_INLINE void store_past_cache(char* to, streamed_unit const& unit) noexcept {
#if defined(__clang__)
  __builtin_nontemporal_store(unit, reinterpret_cast<streamed_unit*>(to));
#else
  __builtin_ia32_movntdq(reinterpret_cast<streamed_unit*>(to), unit);
#endif
}
#endif

// Copies 64 bytes to an address that is aligned to 64, past the cache.
DLBRIDGE_INLINE void stream_line(char* to, char const* from) noexcept {
#if defined(__SSE2__) && defined(__GNUC__)
  streamed_unit first, second, third, fourth;  // an array would go through memory
  std::memcpy(&first, from, 16);
  std::memcpy(&second, from + 16, 16);
  std::memcpy(&third, from + 32, 16);
  std::memcpy(&fourth, from + 48, 16);
  store_past_cache(to, first);
  store_past_cache(to + 16, second);
  store_past_cache(to + 32, third);
  store_past_cache(to + 48, fourth);
#else
  std::memcpy(to, from, 64);
#endif
}

// Copies whole lines past the cache to an aligned address. stream_fence must follow the last call.
// ahead: the distance, in bytes, at which it requests the source before it needs it.
// Returns the number of bytes that it copied: all but the last, less than 64.
DLBRIDGE_INLINE std::size_t stream_lines(char* to, char const* from, std::size_t bytes,
                                         std::size_t ahead) noexcept {
  std::size_t i = 0;
  for (; i + 64 <= bytes; i += 64) {
    prefetch(from + i + ahead);
    stream_line(to + i, from + i);
  }
  return i;
}
constexpr std::size_t usual_ahead = 512;

// The number of bytes before the next line.
inline std::size_t bytes_to_line(char const* address) noexcept {
  return (64 - (reinterpret_cast<std::uintptr_t>(address) & 63)) & 63;
}

// Copies bytes past the cache, except those of lines of which it copies a part.
DLBRIDGE_INLINE void stream_bytes(char* to, char const* from, std::size_t bytes,
                                  std::size_t ahead = usual_ahead) noexcept {
  std::size_t const head = bytes_to_line(to);
  if (bytes < head + 64) {
    std::memcpy(to, from, bytes);
    return;
  }
  std::memcpy(to, from, head);
  std::size_t const end = head + stream_lines(to + head, from + head, bytes - head, ahead);
  std::memcpy(to + end, from + end, bytes - end);
}

// Makes streaming stores visible before later stores, as ordinary stores are.
inline void stream_fence() noexcept {
#if defined(__SSE2__) && defined(__GNUC__)
  __builtin_ia32_sfence();
#endif
}
}  // namespace DLBRIDGE_COPY_KERNELS
}  // namespace detail
DLBRIDGE_END_NAMESPACE
