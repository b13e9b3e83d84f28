// input, expect, exact_array: turn the bytes of a fuzzer into numbers, report a violated
// expectation, and allocate arrays without room behind them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

/// Ends the run, which makes the input a finding, unless the expectation holds.
inline void expect(bool holds, char const* what) {
  if (!holds) {
    std::fprintf(stderr, "violated: %s\n", what);
    std::abort();
  }
}

/// Reads numbers from the bytes of one run. Behind the end all bytes are 0.
class input {
 public:
  input(std::uint8_t const* data, std::size_t size) : next_(data), left_(size) {}

  std::size_t left() const { return left_; }

  /// A number with any bits.
  template <class T>
  T bits() {
    T value{};
    std::size_t const size = sizeof value < left_ ? sizeof value : left_;
    if (size != 0) {
      std::memcpy(&value, next_, size);
    }
    next_ += size;
    left_ -= size;
    return value;
  }
  /// One byte as a number from first to last.
  int between(int first, int last) { return first + bits<std::uint8_t>() % (last - first + 1); }
  /// True for one in `odds` values of a byte, and at the end of the input false.
  bool one_in(int odds) { return bits<std::uint8_t>() % odds == 1; }

  template <class T, std::size_t N>
  T pick(T const (&values)[N]) {
    return values[bits<std::uint8_t>() % N];
  }

  /// A number of 64 bits: mostly small, sometimes at a limit, sometimes any.
  std::int64_t integer() {
    std::uint8_t const choice = bits<std::uint8_t>();
    if (choice < 0xd0) {
      return choice % 13 - 4;
    }
    if (choice < 0xf0) {
      constexpr std::int64_t limits[] = {INT64_MAX,     INT64_MIN, INT64_MAX / 8, INT32_MAX,
                                         INT32_MIN,     1 << 28,   (1 << 28) - 1, INT64_MAX / 2,
                                         INT64_MIN / 8, 1LL << 34, 1LL << 60,     1LL << 32};
      std::int64_t const limit = limits[choice % 12];
      bool const moves = choice >= 0xe0 && limit != INT64_MAX && limit != INT64_MIN;
      return moves ? limit + between(-1, 1) : limit;
    }
    return bits<std::int64_t>();
  }

 private:
  std::uint8_t const* next_;
  std::size_t left_;
};

/// An array in a heap block of exactly its size, so that ASan reports every access behind it.
template <class T>
using exact_array = std::unique_ptr<T[]>;

template <class T>
exact_array<T> make_exact(std::size_t count) {
  return exact_array<T>(new T[count]());
}
