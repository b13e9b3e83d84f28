// The bodies of library.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "library.hpp"

#include <dlbridge/dlbridge.hpp>

#include <cstdint>
#include <memory>
#include <vector>

float library::total(dlbridge::tensor_view x) {
  dlbridge::tensor_span<float const, dlbridge::shape<dlbridge::dynamic_extent>> const span(x);
  float sum = 0;
  for (std::int64_t i = 0; i < span.extent(0); ++i) {
    sum += span(i);
  }
  return sum;
}

dlbridge::managed_tensor library::counted(int& deleted) {
  auto const count = [&deleted](std::vector<float>* values) {
    delete values;
    ++deleted;
  };
  return dlbridge::build(
      std::shared_ptr<std::vector<float>>(new std::vector<float>{0, 1, 2}, count));
}

void library::take(dlbridge::managed_tensor x) { x.reset(); }
