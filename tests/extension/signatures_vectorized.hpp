// Functions of tests of vectorize: functions of numbers, which are called for elements of arrays.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <dlbridge/python/call/vectorize.hpp>

#include "signatures.hpp"

namespace signatures {

using dlbridge::vectorize;

// Its member functions are called for elements.
struct scale {
  explicit scale(double by) : factor(by) {}

  double factor;
  std::int64_t calls = 0;

  double apply(double x) const { return factor * x; }
  double count(double x) {
    ++calls;
    return x;
  }
};

inline double plus_one(double x) { return x + 1; }

template <class Add>
void add_vectorized(Add&& add) {
  add("hypot", dlbridge::vectorize([](double x, double y) { return std::hypot(x, y); }), "x", "y");
  add("difference", vectorize([](double x, double y) { return x - y; }), "x", "y");
  add("mixed", vectorize([](double x, float const& y, std::int64_t z) {
        return 100 * x + 10 * static_cast<double>(y) + static_cast<double>(z);
      }),
      "x", "y", "z");
  add("weighted",
      vectorize([](double a, double b, double c, double d) { return a + 2 * b + 4 * c + 8 * d; }),
      "a", "b", "c", "d");
  add("plus_one", vectorize(&plus_one), "x");
  add("inverted", vectorize([](bool x) { return !x; }), "x");
  add("conjugate", vectorize([](std::complex<double> x) { return std::conj(x); }), "x");
  add("halves", vectorize([](dlbridge::float16 x) { return x; }), "x");
  add("small", vectorize([](std::int8_t x) { return x; }), "x");
  add("numbered", vectorize([next = 0](double) mutable { return next++; }), "x");
  add("root", vectorize([](double x) {
        if (x < 0) {
          throw std::domain_error("the root of a negative number");
        }
        return std::sqrt(x);
      }),
      "x");
  add("repeated", vectorize([](std::string const& text, std::int32_t n) {
        return static_cast<std::int64_t>(text.size()) * n;
      }),
      "text", "n");
  add("interpolated", vectorize([](double x, tensor_span<double const, vector> table) {
        auto const i = static_cast<std::int64_t>(x);
        return table(i) + (x - static_cast<double>(i)) * (table(i + 1) - table(i));
      }),
      "x", "table");
}

}  // namespace signatures
