// The second unit of an extension, whose first one may be of the other mode.
// SPDX-License-Identifier: BSD-3-Clause
#include <dlbridge/pybind11.hpp>

#include <vector>

void bind_second(pybind11::module_& m) {
  dlbridge::def(m, "doubles", [] { return dlbridge::build(std::vector<double>(2)); });
  dlbridge::def(m, "kind", [](dlbridge::tensor<double> const&) { return "double"; });
  dlbridge::def(m, "fail", [](dlbridge::tensor<double> const&) {
    dlbridge::raise(dlbridge::refusal(dlbridge::errc::out_of_memory, "less", "more"));
  });
}

#if defined(TENSOR_CROSSES)
void take(dlbridge::managed_tensor x) { x.reset(); }
#endif
