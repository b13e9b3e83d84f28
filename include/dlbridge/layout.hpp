// try_count, is_row_major, try_reach and others: compute sizes, strides and addresses from shapes,
// with checks for overflow.
// layer: values
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <dlbridge/abi.hpp>

// Preconditions of every function: rank is at most max_rank, extents are not negative, and strides
// count elements (spec 1.7). Null strides mean row-major. The functions ignore the strides of
// dimensions of extent 1 and of empty tensors, which have no meaning, and read neither shape nor
// strides at rank 0. The element count and the reach may overflow only in functions whose name
// begins with try_.
namespace dlbridge {
inline namespace DLBRIDGE_ABI {

namespace detail {
// try_multiply and try_add for compilers without overflow builtins. The functions write out only if
// the result fits.
inline bool try_multiply_portable(std::int64_t a, std::int64_t b, std::int64_t& out) noexcept {
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

inline bool try_add_portable(std::int64_t a, std::int64_t b, std::int64_t& out) noexcept {
  if (b > 0 ? a > (std::numeric_limits<std::int64_t>::max)() - b
            : a < (std::numeric_limits<std::int64_t>::min)() - b) {
    return false;
  }
  out = a + b;
  return true;
}

// Keeps a loop over the few dimensions of a tensor as it is. GCC replaces a copy by `rep movs`,
// which takes longer to start than to copy the numbers of eight dimensions, and it vectorizes other
// loops.
DLBRIDGE_INLINE void keep_loop() noexcept {
#if defined(__GNUC__)
  __asm__ volatile("");
#endif
}

// Copies the extents or the strides of a tensor.
template <class Integer>
DLBRIDGE_INLINE void copy_extents(Integer const* from, int count, std::int64_t* to) noexcept {
  for (int i = 0; i < count; ++i) {
    to[i] = static_cast<std::int64_t>(from[i]);
    keep_loop();
  }
}
}  // namespace detail

/// Computes out = a * b.
/// @return Whether the result fits; if not, the value of out is unspecified.
inline bool try_multiply(std::int64_t a, std::int64_t b, std::int64_t& out) noexcept {
#if defined(__GNUC__) || defined(__clang__)
  return !__builtin_mul_overflow(a, b, &out);
#else
  return detail::try_multiply_portable(a, b, out);
#endif
}

/// Computes out = a + b.
/// @return Whether the result fits; if not, the value of out is unspecified.
inline bool try_add(std::int64_t a, std::int64_t b, std::int64_t& out) noexcept {
#if defined(__GNUC__) || defined(__clang__)
  return !__builtin_add_overflow(a, b, &out);
#else
  return detail::try_add_portable(a, b, out);
#endif
}

/// Computes the number of elements: 1 at rank 0, and 0 if any extent is 0.
///
/// @param rank Number of dimensions.
/// @param shape rank extents.
/// @param[out] out The number of elements.
/// @return Whether the result fits; if not, the value of out is unspecified.
inline bool try_count(int rank, std::int64_t const* shape, std::int64_t& out) noexcept {
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

/// The number of elements: 1 at rank 0, and 0 if any extent is 0.
/// @pre The number fits 64 bits, as in every tensor that check_tensor accepts.
inline std::int64_t count_of(int rank, std::int64_t const* shape) noexcept {
  std::uint64_t product = 1;  // unsigned: it may wrap before a later extent of 0
  for (int i = 0; i < rank; ++i) {
    product *= static_cast<std::uint64_t>(shape[i]);
  }
  return static_cast<std::int64_t>(product);
}

namespace detail {
// The stride of the next slower dimension, never 0. It equals step if the dimension is empty or if
// the product overflows, which only happens in empty tensors.
inline std::int64_t step_over(std::int64_t step, std::int64_t extent) noexcept {
  std::int64_t next = 0;
  return extent > 0 && try_multiply(step, extent, next) ? next : step;
}
}  // namespace detail

/// The stride, in elements, of dimension i of a row-major tensor.
inline std::int64_t row_major_stride(int rank, std::int64_t const* shape, int i) noexcept {
  std::int64_t step = 1;
  for (int faster = rank - 1; faster > i; --faster) {
    step = detail::step_over(step, shape[faster]);
  }
  return step;
}

/// Writes the strides of a row-major tensor; all of them are above 0.
inline void fill_row_major(int rank, std::int64_t const* shape, std::int64_t* strides) noexcept {
  std::int64_t step = 1;
  for (int i = rank; i-- > 0;) {
    strides[i] = step;
    step = detail::step_over(step, shape[i]);
  }
}

/// Writes the strides of a column-major tensor; all of them are above 0.
inline void fill_column_major(int rank, std::int64_t const* shape, std::int64_t* strides) noexcept {
  std::int64_t step = 1;
  for (int i = 0; i < rank; ++i) {
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

// Whether the elements have no gaps when dimension `first` is the fastest, `first + step` the next
// slower one, and so on.
DLBRIDGE_ALIGNED inline bool is_compact_along(int rank, int first, int step,
                                              std::int64_t const* shape,
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
}  // namespace detail

/// Whether the elements are compact with the last dimension fastest (C order, layout_right).
inline bool is_row_major(int rank, std::int64_t const* shape,
                         std::int64_t const* strides) noexcept {
  return strides == nullptr || detail::is_compact_along(rank, rank - 1, -1, shape, strides);
}

namespace detail {
inline int dimensions_above_one(int rank, std::int64_t const* shape) noexcept {
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

/// Whether the elements are compact with the first dimension fastest (Fortran order, layout_left).
inline bool is_column_major(int rank, std::int64_t const* shape,
                            std::int64_t const* strides) noexcept {
  return strides == nullptr ? detail::dimensions_above_one(rank, shape) <= 1
                            : detail::is_compact_along(rank, 0, 1, shape, strides);
}

namespace detail {
// Writes the indices of the dimensions whose extent is above 1 to order, sorted by the absolute
// value of their stride. Returns their number, or -1 for an empty tensor.
inline int sort_by_step(int rank, std::int64_t const* shape, std::int64_t const* strides,
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

/// Whether the elements fill one block without gaps, in any order of the dimensions, with no
/// negative stride.
inline bool is_compact(int rank, std::int64_t const* shape, std::int64_t const* strides) noexcept {
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

/// Computes the offsets of the elements with the lowest and the highest address.
///
/// @param rank Number of dimensions.
/// @param shape rank extents.
/// @param strides rank strides in elements, or null for row-major.
/// @param[out] lowest Offset from the first element, in elements; 0 or below.
/// @param[out] highest Offset from the first element, in elements; 0 or above.
/// @return Whether the offsets fit; if not, their values are unspecified.
inline bool try_reach(int rank, std::int64_t const* shape, std::int64_t const* strides,
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

/// Whether two indices may refer to the same memory, because a stride is 0 or shorter than the span
/// of the faster dimensions. The test is conservative: it may return true for interleaved strides
/// that never overlap.
inline bool has_alias(int rank, std::int64_t const* shape, std::int64_t const* strides) noexcept {
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

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
