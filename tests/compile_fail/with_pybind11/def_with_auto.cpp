// SPDX-License-Identifier: BSD-3-Clause
// The parameters of a generic lambda have no types.
// lines: 60
// says: State them instead of auto
#include <dlbridge/pybind11.hpp>

PYBIND11_MODULE(example, m) {
#ifdef WRONG
  dlbridge::def(m, "count", [](auto const& x) { return x.count(); });
#else
  dlbridge::def(m, "count", [](dlbridge::tensor_span<float> x) { return x.count(); });
#endif
}
