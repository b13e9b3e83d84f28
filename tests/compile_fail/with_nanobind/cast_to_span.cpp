// SPDX-License-Identifier: BSD-3-Clause
// cast has no call during which a span would stay valid.
// lines: 80
// says: cast imports owning tensors: tensor, argument, any_tensor, managed_tensor
#include <dlbridge/nanobind.hpp>

std::int64_t use(nanobind::object x) {
#ifdef WRONG
  return dlbridge::cast<dlbridge::tensor_span<float const>>(x).count();
#else
  return dlbridge::cast<dlbridge::tensor<float const>>(x).count();
#endif
}
