// copy_runs, fill_rows and gather_rows: copy rows of contiguous, of equal and of distant elements.
// layer: arrays · copies on the host, row by row
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <dlbridge/abi.hpp>
#include <dlbridge/detail/copy_plan.hpp>
#include <dlbridge/detail/copy_registers.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
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

// Rows of `bytes` bytes, Block to 2 * Block of them if Block is less than 16. The last block of a
// row overlaps the one before.
template <std::size_t Block>
void copy_short_runs(row_set const& rows, std::size_t bytes) noexcept {
  for (std::int64_t i = 0; i < rows.outer.extent; ++i) {
    char const* const from = rows.source_row(i);
    char* const to = rows.destination_row(i);
    for (std::size_t k = 0; k + Block < bytes; k += Block) {
      std::memcpy(to + k, from + k, Block);
    }
    std::memcpy(to + bytes - Block, from + bytes - Block, Block);
  }
}

// Copies rows that are contiguous on both sides.
inline void copy_runs(row_set const& rows, std::size_t bytes, bool streams) noexcept {
  constexpr std::size_t long_run = 256;  // from here on, a call of memcpy costs less than a loop
  if (bytes < long_run) {
    return bytes >= 16  ? copy_short_runs<16>(rows, bytes)
           : bytes >= 8 ? copy_short_runs<8>(rows, bytes)
           : bytes >= 4 ? copy_short_runs<4>(rows, bytes)
           : bytes >= 2 ? copy_short_runs<2>(rows, bytes)
                        : copy_short_runs<1>(rows, bytes);
  }
  for (std::int64_t i = 0; i < rows.outer.extent; ++i) {
    streams ? stream_bytes(rows.destination_row(i), rows.source_row(i), bytes)
            : static_cast<void>(std::memcpy(rows.destination_row(i), rows.source_row(i), bytes));
  }
}

// A pattern that fills copies from, in units that the compiler keeps in registers.
template <int Lanes>
struct fill_unit {
#if DLBRIDGE_VECTORS
  typename copy_register<1, Lanes>::type bytes;
#else
  unsigned char bytes[std::size_t{16} * Lanes];
#endif
};

// Fills a row with a pattern of 16 * Lanes bytes. Returns the number of bytes that it filled: all
// but the last, less than 64.
template <int Lanes>
DLBRIDGE_INLINE std::size_t fill_lines(char* to, std::size_t bytes, char const* pattern) noexcept {
  constexpr std::size_t size = 16 * Lanes;
  fill_unit<Lanes> unit;
  std::memcpy(&unit, pattern, size);
  std::size_t k = 0;
  for (; k + 64 <= bytes; k += 64) {
    for (std::size_t i = 0; i < 64; i += size) {
      std::memcpy(to + k + i, &unit, size);
    }
  }
  return k;
}
#if defined(DLBRIDGE_AVX2)
DLBRIDGE_AVX2 inline std::size_t fill_lines_by_avx2(char* to, std::size_t bytes,
                                                    char const* pattern) noexcept {
  return fill_lines<2>(to, bytes, pattern);
}
#endif

// Copies rows whose elements are all equal, because the step of the source is 0, to contiguous
// ones.
template <int Bytes>
void fill_rows(row_set const& rows, copy_kernel kernel, bool streams) noexcept {
  std::size_t const bytes = static_cast<std::size_t>(rows.inner.extent) * Bytes;
  char pattern[128];  // so that a line may begin inside an element
  for (std::int64_t i = 0; i < rows.outer.extent; ++i) {
    for (std::size_t k = 0; k < sizeof pattern; k += Bytes) {
      std::memcpy(pattern + k, rows.source_row(i), static_cast<std::size_t>(Bytes));
    }
    char* const to = rows.destination_row(i);
    std::size_t k = 0;
    if (streams && bytes >= 64) {
      k = (64 - (reinterpret_cast<std::uintptr_t>(to) & 63)) & 63;
      std::memcpy(to, pattern, k);
      for (; k + 64 <= bytes; k += 64) {
        stream_line(to + k, pattern + k % Bytes);
      }
    }
#if defined(DLBRIDGE_AVX2)
    if (kernel == copy_kernel::vector32) {
      k += fill_lines_by_avx2(to + k, bytes - k, pattern + k % Bytes);
    }
#endif
    k += fill_lines<1>(to + k, bytes - k, pattern + k % Bytes);
    std::memcpy(to + k, pattern + k % Bytes, bytes - k);
  }
  static_cast<void>(kernel);
}

#if defined(DLBRIDGE_AVX2)
// Gathers elements that are at most 4 * Bytes apart: one output register consists of bytes of up to
// four input registers, each of which a shuffle moves to their place.
struct shuffle_plan {
  int registers;
  std::int64_t first;  // from the first element of a group to its lowest byte
  std::int64_t offsets[4];
  char masks[4][16];
};

inline shuffle_plan plan_shuffles(std::int64_t step, int bytes) noexcept {
  int const count = 16 / bytes;
  std::int64_t const distance = length(step);
  std::int64_t const span = (count - 1) * distance + bytes;
  shuffle_plan plan;
  plan.registers = static_cast<int>((span + 15) / 16);
  plan.first = step < 0 ? (count - 1) * step : 0;
  std::memset(plan.masks, -128, sizeof plan.masks);  // yields 0
  for (int k = 0; k < plan.registers; ++k) {
    // The last register ends with the last element: the copy reads no byte outside its elements
    // and the gaps between them.
    plan.offsets[k] = k + 1 < plan.registers ? 16 * k : span - 16;
  }
  for (int i = 0; i < 16; ++i) {
    int const element = step < 0 ? count - 1 - i / bytes : i / bytes;
    std::int64_t const from = element * distance + i % bytes;
    std::int64_t const k = from / 16;
    plan.masks[k][i] = static_cast<char>(from - plan.offsets[k]);
  }
  return plan;
}

// Copies n >= 16 / Bytes elements to a contiguous row.
template <int Bytes, int Registers>
DLBRIDGE_AVX2 void gather_by_shuffles(char const* source, std::int64_t step, char* to,
                                      std::int64_t n, shuffle_plan const& plan) noexcept {
  typedef char reg __attribute__((vector_size(16)));
  constexpr std::int64_t count = 16 / Bytes;
  reg masks[std::size_t{Registers}];
  std::memcpy(masks, plan.masks, sizeof masks);
  for (std::int64_t i = 0; i < n; i += count) {
    std::int64_t const element = i < n - count ? i : n - count;
    char const* const from = source + element * step + plan.first;
    reg result{};
    for (int k = 0; k < Registers; ++k) {
      reg part;
      std::memcpy(&part, from + plan.offsets[k], 16);
      result |= __builtin_ia32_pshufb128(part, masks[k]);
    }
    std::memcpy(to + element * Bytes, &result, 16);
  }
}
#endif

template <int Bytes>
void gather_one_by_one(char const* source, std::int64_t step, char* to, std::int64_t to_step,
                       std::int64_t n) noexcept {
  auto const copy_one = [&]() noexcept {
    std::memcpy(to, source, static_cast<std::size_t>(Bytes));
    source += step;
    to += to_step;
  };
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    copy_one();
    copy_one();
    copy_one();
    copy_one();
  }
  for (; i < n; ++i) {
    copy_one();
  }
}

// Copies one row after the other, by the fastest way for its step.
template <int Bytes>
class gatherer {
 public:
  gatherer(std::int64_t step, std::int64_t to_step, copy_kernel kernel) noexcept
      : step_(step), to_step_(to_step) {
#if defined(DLBRIDGE_AVX2)
    std::int64_t const distance = length(step);
    shuffles_ = kernel == copy_kernel::vector32 && Bytes <= 4 && to_step == Bytes &&
                distance >= Bytes && distance <= 4 * Bytes;
    if (shuffles_) {
      plan_ = plan_shuffles(step, Bytes);
    }
#else
    static_cast<void>(kernel);
#endif
  }

  void copy(char const* source, char* to, std::int64_t n) const noexcept {
#if defined(DLBRIDGE_AVX2)
    if (shuffles_ && n >= 16 / Bytes) {
      switch (plan_.registers) {
        case 1:
          return gather_by_shuffles<Bytes, 1>(source, step_, to, n, plan_);
        case 2:
          return gather_by_shuffles<Bytes, 2>(source, step_, to, n, plan_);
        case 3:
          return gather_by_shuffles<Bytes, 3>(source, step_, to, n, plan_);
        default:
          return gather_by_shuffles<Bytes, 4>(source, step_, to, n, plan_);
      }
    }
#endif
    // The constant step lets the compiler use fewer address computations.
    to_step_ == Bytes ? gather_one_by_one<Bytes>(source, step_, to, Bytes, n)
                      : gather_one_by_one<Bytes>(source, step_, to, to_step_, n);
  }

 private:
  std::int64_t step_;
  std::int64_t to_step_;
#if defined(DLBRIDGE_AVX2)
  bool shuffles_;
  shuffle_plan plan_;
#endif
};

// Copies rows of elements with any steps. Where rows interleave in the source, it copies a part of
// every row before it continues, so that each cache line is read from memory once.
template <int Bytes>
void gather_rows(row_set const& rows, copy_kernel kernel) noexcept {
  std::int64_t const distance = length(rows.inner.source);
  std::int64_t part = rows.inner.extent;
  if (rows.outer.extent > 1 && length(rows.outer.source) < distance) {
    part = distance < 64 ? 131072 / distance : 256;
  }
  gatherer<Bytes> const gather(rows.inner.source, rows.inner.destination, kernel);
  for (std::int64_t first = 0; first < rows.inner.extent; first += part) {
    std::int64_t const n = first + part < rows.inner.extent ? part : rows.inner.extent - first;
    for (std::int64_t i = 0; i < rows.outer.extent; ++i) {
      gather.copy(rows.source_row(i) + first * rows.inner.source,
                  rows.destination_row(i) + first * rows.inner.destination, n);
    }
  }
}

}  // namespace DLBRIDGE_COPY_KERNELS
}  // namespace detail
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
