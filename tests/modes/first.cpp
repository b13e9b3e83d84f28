// The first unit of an extension, whose second one may be of the other mode.
// SPDX-License-Identifier: BSD-3-Clause
#include <dlbridge/pybind11.hpp>

#include <vector>

void bind_second(pybind11::module_& m);
#if defined(TENSOR_CROSSES)
void take(dlbridge::managed_tensor x);
#endif

PYBIND11_MODULE(mixed, m) {
  dlbridge::init(m);
  dlbridge::def(m, "floats", [] { return dlbridge::build(std::vector<float>(2)); });
  dlbridge::def(m, "kind", [](dlbridge::tensor<float> const&) { return "float"; });
  dlbridge::def(m, "fail", [](dlbridge::tensor<float> const&) {
    dlbridge::raise(dlbridge::refusal(dlbridge::errc::out_of_memory, "less", "more"));
  });
  bind_second(m);
#if defined(TENSOR_CROSSES)
  take(dlbridge::build(std::vector<float>(2)));
#endif
}
