// SPDX-License-Identifier: BSD-3-Clause
// The parameters of a lambda whose body does not compile cannot be read; none of them is auto.
// says: if the compiler reports an error inside a lambda above, correct that one instead
#include <dlbridge/pybind11.hpp>

PYBIND11_MODULE(example, m) {
#ifdef WRONG
  dlbridge::def(m, "count", [](dlbridge::tensor_span<float> x) { return x.cuont(); });
#else
  dlbridge::def(m, "count", [](dlbridge::tensor_span<float> x) { return x.count(); });
#endif
}
