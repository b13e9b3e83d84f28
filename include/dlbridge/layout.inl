// The inline bodies of layout.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <dlbridge/layout.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
void keep_loop() noexcept {
#if defined(__GNUC__)
  __asm__ volatile("");
#endif
}

template <class Integer>
void copy_extents(Integer const* from, int count, std::int64_t* to) noexcept {
  for (int i = 0; i < count; ++i) {
    to[i] = static_cast<std::int64_t>(from[i]);
    keep_loop();
  }
}
}  // namespace detail

bool try_multiply(std::int64_t a, std::int64_t b, std::int64_t& out) noexcept {
#if defined(__GNUC__) || defined(__clang__)
  return !__builtin_mul_overflow(a, b, &out);
#else
  return detail::try_multiply_portable(a, b, out);
#endif
}

std::int64_t count_of(int rank, std::int64_t const* shape) noexcept {
  std::uint64_t product = 1;  // unsigned: it may wrap before a later extent of 0
  for (int i = 0; i < rank; ++i) {
    product *= static_cast<std::uint64_t>(shape[i]);
  }
  return static_cast<std::int64_t>(product);
}

namespace detail {
std::int64_t step_over(std::int64_t step, std::int64_t extent) noexcept {
  std::int64_t next = 0;
  return extent > 0 && try_multiply(step, extent, next) ? next : step;
}
}  // namespace detail

void fill_row_major(int rank, std::int64_t const* shape, std::int64_t* strides) noexcept {
  std::int64_t step = 1;
  for (int i = rank; i-- > 0;) {
    strides[i] = step;
    step = detail::step_over(step, shape[i]);
  }
}

namespace detail {
// Whether an extent is 0.
inline bool has_no_elements(int rank, std::int64_t const* shape) noexcept {
  for (int i = 0; i < rank; ++i) {
    if (shape[i] == 0) {
      return true;
    }
  }
  return false;
}

bool is_compact_along(int rank, int first, int step, std::int64_t const* shape,
                      std::int64_t const* strides) noexcept {
  std::uint64_t expected = 1;
  std::ptrdiff_t i = first;
  for (int left = rank; left != 0; --left, i += step) {
    if (static_cast<std::uint64_t>(strides[i]) == expected) {  // as a rule, also of extent 1
      expected *= static_cast<std::uint64_t>(shape[i]);
    } else if (shape[i] != 1) {
      return has_no_elements(rank, shape);
    }
  }
  return true;
}

int dimensions_above_one(int rank, std::int64_t const* shape) noexcept {
  int count = 0;
  for (int i = 0; i < rank; ++i) {
    if (shape[i] == 0) {
      return 0;
    }
    count += shape[i] != 1 ? 1 : 0;
  }
  return count;
}
}  // namespace detail

bool is_row_major(int rank, std::int64_t const* shape, std::int64_t const* strides) noexcept {
  return strides == nullptr || detail::is_compact_along(rank, rank - 1, -1, shape, strides);
}

bool is_column_major(int rank, std::int64_t const* shape, std::int64_t const* strides) noexcept {
  return strides == nullptr ? detail::dimensions_above_one(rank, shape) <= 1
                            : detail::is_compact_along(rank, 0, 1, shape, strides);
}

DLBRIDGE_END_NAMESPACE
