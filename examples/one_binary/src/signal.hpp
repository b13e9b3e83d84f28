// The functions and the class that the three extensions bind. They know nothing of the binding
// library.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace signal_core {

// [core]
using vector = dlbridge::shape<dlbridge::dynamic_extent>;
using samples = dlbridge::argument<float const, vector>;
using writable_samples = dlbridge::tensor<float, vector>;

inline auto smooth(samples x) {  // the tensor of any library
  auto out = x.empty_like<float>();
  std::int64_t const last = x.extent(0) - 1;
  for (std::int64_t i = 0; i <= last; ++i) {
    out(i) = (x(std::max<std::int64_t>(i - 1, 0)) + x(i) + x(std::min(i + 1, last))) / 3;
  }
  return out;  // a tensor of the same library
}

inline void scale(writable_samples x, float factor) {
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    x(i) *= factor;
  }
}

class track {  // an array class, which consumers import
 public:
  explicit track(std::size_t count) : samples_(count) {}
  float* data() { return samples_.data(); }
  std::size_t count() const { return samples_.size(); }

 private:
  std::vector<float> samples_;
};
// [/core]

}  // namespace signal_core

template <>
struct dlbridge::array_traits<signal_core::track> {
  static description describe(signal_core::track& t) noexcept {
    return description::of(t.data(), {t.count()});
  }
};
