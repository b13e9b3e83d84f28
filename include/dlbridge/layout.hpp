// Shape and stride arithmetic on plain arrays: count, overflow, row- and column-major tests, fill,
// reach, aliasing.
// layer: values · where each element is
#pragma once

#include <cstdint>
#include <limits>

#include <dlbridge/abi.hpp>

// Every function takes a rank of at most max_rank, extents >= 0 and strides in elements (spec 1.7).
// Extents of 1 and empty tensors make strides meaningless, so the tests ignore them there; null
// strides mean row-major. Nothing is read at rank 0. Only the functions that try take a count or a
// reach that may not fit; the others rely on it.
namespace dlbridge {
inline namespace DLBRIDGE_ABI {

namespace detail {
// For compilers without the builtins; out is written only when the result fits.
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
}  // namespace detail

/// out = a * b, or false when it does not fit; out then means nothing.
inline bool try_multiply(std::int64_t a, std::int64_t b, std::int64_t& out) noexcept {
#if defined(__GNUC__) || defined(__clang__)
  return !__builtin_mul_overflow(a, b, &out);
#else
  return detail::try_multiply_portable(a, b, out);
#endif
}

/// out = a + b, or false when it does not fit; out then means nothing.
inline bool try_add(std::int64_t a, std::int64_t b, std::int64_t& out) noexcept {
#if defined(__GNUC__) || defined(__clang__)
  return !__builtin_add_overflow(a, b, &out);
#else
  return detail::try_add_portable(a, b, out);
#endif
}

/// The number of elements, 1 at rank 0; false when it does not fit. An empty tensor counts 0,
/// whatever its other extents.
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

/// try_count for extents that are known to fit.
inline std::int64_t count_of(int rank, std::int64_t const* shape) noexcept {
  std::uint64_t product = 1;  // unsigned: a later 0 may undo what wraps before it
  for (int i = 0; i < rank; ++i) {
    product *= static_cast<std::uint64_t>(shape[i]);
  }
  return static_cast<std::int64_t>(product);
}

namespace detail {
// The step of the next slower dimension. An empty dimension counts as one element, and so does one
// that would device_copy the step out of range, which only an empty tensor can have: no step is 0.
inline std::int64_t step_over(std::int64_t step, std::int64_t extent) noexcept {
  std::int64_t next = 0;
  return extent > 0 && try_multiply(step, extent, next) ? next : step;
}
}  // namespace detail

/// The stride of dimension i of a compact tensor, last dimension fastest.
inline std::int64_t row_major_stride(int rank, std::int64_t const* shape, int i) noexcept {
  std::int64_t step = 1;
  for (int faster = rank - 1; faster > i; --faster) {
    step = detail::step_over(step, shape[faster]);
  }
  return step;
}

/// Writes the strides of a compact tensor, last dimension fastest; all of them above 0.
inline void fill_row_major(int rank, std::int64_t const* shape, std::int64_t* strides) noexcept {
  std::int64_t step = 1;
  for (int i = rank; i-- > 0;) {
    strides[i] = step;
    step = detail::step_over(step, shape[i]);
  }
}

/// Writes the strides of a compact tensor, first dimension fastest; all of them above 0.
inline void fill_column_major(int rank, std::int64_t const* shape, std::int64_t* strides) noexcept {
  std::int64_t step = 1;
  for (int i = 0; i < rank; ++i) {
    strides[i] = step;
    step = detail::step_over(step, shape[i]);
  }
}

namespace detail {
// Whether the dimensions, visited from the fastest to the slowest, follow each other without gaps.
inline bool is_compact_along(int rank, int first, int step, std::int64_t const* shape,
                             std::int64_t const* strides) noexcept {
  std::uint64_t expected = 1;
  bool follows = true;
  for (int n = 0, i = first; n < rank; ++n, i += step) {
    if (shape[i] == 0) {
      return true;
    }
    if (shape[i] != 1) {
      follows = follows && static_cast<std::uint64_t>(strides[i]) == expected;
      expected *= static_cast<std::uint64_t>(shape[i]);
    }
  }
  return follows;
}
}  // namespace detail

/// Whether the elements lie compact with the last dimension fastest (C order, layout_right).
inline bool is_row_major(int rank, std::int64_t const* shape,
                         std::int64_t const* strides) noexcept {
  return strides == nullptr || detail::is_compact_along(rank, rank - 1, -1, shape, strides);
}

namespace detail {
inline int dimensions_above_one(int rank, std::int64_t const* shape) noexcept {
  int found = 0;
  for (int i = 0; i < rank; ++i) {
    if (shape[i] == 0) {
      return 0;
    }
    found += shape[i] != 1 ? 1 : 0;
  }
  return found;
}
}  // namespace detail

/// Whether the elements lie compact with the first dimension fastest (Fortran order, layout_left).
inline bool is_column_major(int rank, std::int64_t const* shape,
                            std::int64_t const* strides) noexcept {
  return strides == nullptr ? detail::dimensions_above_one(rank, shape) <= 1
                            : detail::is_compact_along(rank, 0, 1, shape, strides);
}

namespace detail {
// The dimensions with more than one element, fastest first by the size of their step; returns how
// many there are, and -1 for an empty tensor.
inline int sort_by_step(int rank, std::int64_t const* shape, std::int64_t const* strides,
                        int* order) noexcept {
  int found = 0;
  for (int i = 0; i < rank; ++i) {
    if (shape[i] == 0) {
      return -1;
    }
    if (shape[i] == 1) {
      continue;
    }
    auto const step = [strides](int d) {  // of the least int64 too
      return strides[d] < 0 ? 0 - static_cast<std::uint64_t>(strides[d])
                            : static_cast<std::uint64_t>(strides[d]);
    };
    int at = found++;
    for (; at > 0 && step(order[at - 1]) > step(i); --at) {
      order[at] = order[at - 1];
    }
    order[at] = i;
  }
  return found;
}
}  // namespace detail

/// Whether the elements fill one block without gaps, in any order of dimensions, none reversed.
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

/// The offsets, in elements, of the lowest and the highest element from the first; false when they
/// do not fit. Both are 0 for an empty tensor.
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

/// Whether two different indices may name the same memory: a stride of 0 over several elements, or
/// steps shorter than what lies inside them. It may be true for interleaved steps that never meet.
inline bool has_alias(int rank, std::int64_t const* shape, std::int64_t const* strides) noexcept {
  if (strides == nullptr) {
    return false;
  }
  int order[max_rank];
  int const dimensions = detail::sort_by_step(rank, shape, strides, order);
  std::uint64_t inside = 0;  // how far the faster dimensions reach
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
