// gather_rows: copies rows of distant elements.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <dlbridge/abi.hpp>
#include <dlbridge/detail/copy_kernel.hpp>
#include <dlbridge/detail/copy_plan.hpp>
#include <dlbridge/detail/copy_registers.ipp>
#include <dlbridge/detail/copy_rows.ipp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
inline namespace DLBRIDGE_COPY_KERNELS {
#if defined(DLBRIDGE_AVX2)
// Gathers elements that are at most 4 * Bytes apart: one output register consists of bytes of up to
// four input registers, each of which a shuffle moves to their place.
struct shuffle_plan {
  int registers;
  std::int64_t first;  // from the first element of a group to its lowest byte
  std::int64_t offsets[4];
  char masks[4][16];
};

template <int Bytes>
shuffle_plan plan_shuffles(std::int64_t step) noexcept {
  constexpr unsigned count = 16 / Bytes;
  auto const distance = static_cast<unsigned>(length(step));
  unsigned const span = (count - 1) * distance + Bytes;
  shuffle_plan plan;
  plan.registers = static_cast<int>((span + 15) / 16);
  plan.first = step < 0 ? static_cast<int>(count - 1) * step : 0;
  std::memset(plan.masks, -128, sizeof plan.masks);  // yields 0
  // The last register ends with the last element: the copy reads no byte outside its elements and
  // the gaps between them.
  unsigned const last = static_cast<unsigned>(plan.registers) - 1;
  for (unsigned k = 0; k < 4; ++k) {
    plan.offsets[k] = k < last ? 16 * k : span - 16;
  }
  for (unsigned i = 0; i < 16; ++i) {
    unsigned const element = step < 0 ? count - 1 - i / Bytes : i / Bytes;
    unsigned const from = element * distance + i % Bytes;
    unsigned const k = from / 16;
    plan.masks[k][i] = static_cast<char>(k < last ? from % 16 : from - (span - 16));
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

// A part of every row: the elements from `first` on, `count` of them.
struct row_part {
  std::int64_t first;
  std::int64_t count;
};

// The value of one element, which the compiler keeps in a register.
template <int Bytes>
struct element : unsigned_of<Bytes> {};
template <>
struct element<16> {
  struct type {
    std::uint64_t halves[2];
  };
};
template <int Bytes>
DLBRIDGE_INLINE typename element<Bytes>::type load_element(char const* from) noexcept {
  typename element<Bytes>::type value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Copies a part of every row, element by element. to_step is the step of the destination; a
// constant lets the compiler use fewer address computations.
template <int Bytes>
DLBRIDGE_INLINE void gather_elements(row_set const& rows, std::int64_t to_step,
                                     row_part part) noexcept {
  std::int64_t const step = rows.inner.source;
  for (std::int64_t i = 0; i < rows.outer.extent; ++i) {
    char const* source = rows.source_row(i) + part.first * step;
    char* to = rows.destination_row(i) + part.first * to_step;
    std::int64_t left = part.count;
    for (; left >= 4; left -= 4) {
      // All loads come before the stores: the compiler may not exchange them.
      auto const first = load_element<Bytes>(source);
      auto const second = load_element<Bytes>(source + step);
      auto const third = load_element<Bytes>(source + 2 * step);
      auto const fourth = load_element<Bytes>(source + 3 * step);
      std::memcpy(to, &first, sizeof first);
      std::memcpy(to + to_step, &second, sizeof second);
      std::memcpy(to + 2 * to_step, &third, sizeof third);
      std::memcpy(to + 3 * to_step, &fourth, sizeof fourth);
      source += 4 * step;
      to += 4 * to_step;
    }
    for (; left > 0; --left) {
      std::memcpy(to, source, static_cast<std::size_t>(Bytes));
      source += step;
      to += to_step;
    }
  }
}

#if defined(DLBRIDGE_AVX2)
// The same for contiguous destinations, by shuffles.
template <int Bytes>
void gather_parts_by_shuffles(row_set const& rows, row_part part,
                              shuffle_plan const& plan) noexcept {
  std::int64_t const step = rows.inner.source;
  for (std::int64_t i = 0; i < rows.outer.extent; ++i) {
    char const* const source = rows.source_row(i) + part.first * step;
    char* const to = rows.destination_row(i) + part.first * Bytes;
    switch (plan.registers) {
      case 1:
        gather_by_shuffles<Bytes, 1>(source, step, to, part.count, plan);
        break;
      case 2:
        gather_by_shuffles<Bytes, 2>(source, step, to, part.count, plan);
        break;
      case 3:
        gather_by_shuffles<Bytes, 3>(source, step, to, part.count, plan);
        break;
      default:
        gather_by_shuffles<Bytes, 4>(source, step, to, part.count, plan);
    }
  }
}
#endif

// Whether shuffles gather the rows, and gain more than their plan costs.
template <int Bytes>
bool profits_from_shuffles(row_set const& rows, copy_kernel kernel) noexcept {
  std::int64_t const distance = length(rows.inner.source);
  return kernel == copy_kernel::vector32 && Bytes <= 4 && rows.inner.destination == Bytes &&
         distance >= Bytes && distance <= (Bytes == 4 ? 8 : 4 * Bytes) &&
         rows.inner.extent >= 16 / Bytes && rows.inner.extent * rows.outer.extent >= 640;
}

// Copies rows of elements with any steps. Where rows interleave in the source, it copies a part of
// every row before it continues, so that each cache line is read from memory once.
template <int Bytes>
void gather_rows(row_set const& rows, copy_kernel kernel) noexcept {
  std::int64_t const distance = length(rows.inner.source);
  std::int64_t most = rows.inner.extent;
  if (rows.outer.extent > 1 && length(rows.outer.source) < distance) {
    most = distance < 64 ? 131072 / distance : distance % 512 == 0 ? 256 : 4096;
  }
#if defined(DLBRIDGE_AVX2)
  bool const shuffles = profits_from_shuffles<Bytes>(rows, kernel);
  shuffle_plan plan;
  if (shuffles) {
    plan = plan_shuffles<Bytes>(rows.inner.source);
  }
#else
  static_cast<void>(kernel);
#endif
  row_part part{0, most};
  for (; part.first < rows.inner.extent; part.first += most) {
    std::int64_t const left = rows.inner.extent - part.first;
    part.count = left < most ? left : most;
#if defined(DLBRIDGE_AVX2)
    if (shuffles && part.count >= 16 / Bytes) {
      gather_parts_by_shuffles<Bytes>(rows, part, plan);
      continue;
    }
#endif
    rows.inner.destination == Bytes ? gather_elements<Bytes>(rows, Bytes, part)
                                    : gather_elements<Bytes>(rows, rows.inner.destination, part);
  }
}
}  // namespace DLBRIDGE_COPY_KERNELS
}  // namespace detail
DLBRIDGE_END_NAMESPACE
