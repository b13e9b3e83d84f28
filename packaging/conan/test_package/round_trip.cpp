// SPDX-License-Identifier: BSD-3-Clause
// Exports a vector, and reads it as a consumer with dlpack.h only.
#include <dlbridge/dlbridge.hpp>

#include <cstdio>
#include <vector>

int main() {
  auto* const tensor = dlbridge::build(std::vector<float>{1, 2, 3}).release_versioned();
  auto const* const elements = static_cast<float const*>(tensor->dl_tensor.data);
  bool const passed = tensor->dl_tensor.ndim == 1 && tensor->dl_tensor.shape[0] == 3 &&
                      elements[0] == 1 && elements[2] == 3;
  tensor->deleter(tensor);
  std::puts(passed ? "dlbridge: a tensor crossed" : "dlbridge: FAILED");
  return passed ? 0 : 1;
}
