// The bodies of layout.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <limits>

#include <dlbridge/layout.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
DLBRIDGE_API bool try_multiply_portable(std::int64_t a, std::int64_t b,
                                        std::int64_t& out) noexcept {
  constexpr std::int64_t least = (std::numeric_limits<std::int64_t>::min)();
  constexpr std::int64_t most = (std::numeric_limits<std::int64_t>::max)();
  if (a != 0 && b != 0) {
    bool const fits = (a > 0) == (b > 0) ? (a > 0 ? a <= most / b : a >= most / b)
                                         : (a > 0 ? b >= least / a : a >= least / b);
    if (!fits) {
      return false;
    }
  }
  out = a * b;
  return true;
}

DLBRIDGE_API bool try_add_portable(std::int64_t a, std::int64_t b, std::int64_t& out) noexcept {
  if (b > 0 ? a > (std::numeric_limits<std::int64_t>::max)() - b
            : a < (std::numeric_limits<std::int64_t>::min)() - b) {
    return false;
  }
  out = a + b;
  return true;
}
}  // namespace detail

DLBRIDGE_API bool try_add(std::int64_t a, std::int64_t b, std::int64_t& out) noexcept {
#if defined(__GNUC__) || defined(__clang__)
  return !__builtin_add_overflow(a, b, &out);
#else
  return detail::try_add_portable(a, b, out);
#endif
}

DLBRIDGE_API bool try_count(int rank, std::int64_t const* shape, std::int64_t& out) noexcept {
  std::int64_t product = 1;
  bool fits = true;
  for (int i = 0; i < rank; ++i) {
    if (shape[i] == 0) {
      out = 0;
      return true;
    }
    fits = fits && try_multiply(product, shape[i], product);
  }
  out = product;
  return fits;
}

DLBRIDGE_API std::int64_t row_major_stride(int rank, std::int64_t const* shape, int i) noexcept {
  std::int64_t step = 1;
  for (int faster = rank - 1; faster > i; --faster) {
    step = detail::step_over(step, shape[faster]);
  }
  return step;
}

DLBRIDGE_API void fill_column_major(int rank, std::int64_t const* shape,
                                    std::int64_t* strides) noexcept {
  std::int64_t step = 1;
  for (int i = 0; i < rank; ++i) {
    strides[i] = step;
    step = detail::step_over(step, shape[i]);
  }
}

namespace detail {
DLBRIDGE_API int sort_by_step(int rank, std::int64_t const* shape, std::int64_t const* strides,
                              int* order) noexcept {
  int count = 0;
  for (int i = 0; i < rank; ++i) {
    if (shape[i] == 0) {
      return -1;
    }
    if (shape[i] == 1) {
      continue;
    }
    auto const step = [strides](int d) {  // also valid for INT64_MIN
      return strides[d] < 0 ? 0 - static_cast<std::uint64_t>(strides[d])
                            : static_cast<std::uint64_t>(strides[d]);
    };
    int position = count++;
    for (; position > 0 && step(order[position - 1]) > step(i); --position) {
      order[position] = order[position - 1];
    }
    order[position] = i;
  }
  return count;
}
}  // namespace detail

DLBRIDGE_API bool is_compact(int rank, std::int64_t const* shape,
                             std::int64_t const* strides) noexcept {
  if (strides == nullptr) {
    return true;
  }
  int order[max_rank];
  int const dimensions = detail::sort_by_step(rank, shape, strides, order);
  std::int64_t expected = 1;
  for (int i = 0; i < dimensions; ++i) {
    if (strides[order[i]] != expected) {
      return false;
    }
    expected *= shape[order[i]];
  }
  return true;
}

DLBRIDGE_API bool try_reach(int rank, std::int64_t const* shape, std::int64_t const* strides,
                            std::int64_t& lowest, std::int64_t& highest) noexcept {
  lowest = 0;
  highest = 0;
  if (strides == nullptr) {
    std::int64_t count = 0;
    bool const fits = try_count(rank, shape, count);
    highest = count > 0 ? count - 1 : 0;
    return fits;
  }
  bool fits = true;
  for (int i = 0; i < rank; ++i) {
    if (shape[i] == 0) {
      lowest = 0;
      highest = 0;
      return true;
    }
    std::int64_t& end = strides[i] < 0 ? lowest : highest;
    std::int64_t span = 0;
    fits = fits && try_multiply(shape[i] - 1, strides[i], span) && try_add(end, span, end);
  }
  return fits;
}

DLBRIDGE_API bool has_alias(int rank, std::int64_t const* shape,
                            std::int64_t const* strides) noexcept {
  if (strides == nullptr) {
    return false;
  }
  int order[max_rank];
  int const dimensions = detail::sort_by_step(rank, shape, strides, order);
  std::uint64_t inside = 0;  // the offset of the last element of the faster dimensions
  for (int i = 0; i < dimensions; ++i) {
    std::int64_t const stride = strides[order[i]];
    std::uint64_t const step =
        stride < 0 ? 0 - static_cast<std::uint64_t>(stride) : static_cast<std::uint64_t>(stride);
    if (step <= inside) {
      return true;
    }
    inside += step * (static_cast<std::uint64_t>(shape[order[i]]) - 1);
  }
  return false;
}

DLBRIDGE_END_NAMESPACE
