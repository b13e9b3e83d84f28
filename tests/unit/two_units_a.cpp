// SPDX-License-Identifier: BSD-3-Clause
// The first of two translation units that include every header without Python.
#include <dlbridge/dlbridge.hpp>
#include <dlbridge/runtime.hpp>

#include <vector>

double sum_in_b(dlbridge::managed_tensor tensor);

int main() {
  dlbridge::managed_tensor tensor = dlbridge::build(std::vector<double>{1, 2, 3});
  return sum_in_b(std::move(tensor)) == 6.0 ? 0 : 1;
}
