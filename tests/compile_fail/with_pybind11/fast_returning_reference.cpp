// SPDX-License-Identifier: BSD-3-Clause
// The same of def_fast.
// lines: 80
// says: a tensor is returned by value. Take it by value, and return std::move of it
#include <dlbridge/pybind11.hpp>

using argument = dlbridge::argument<float>;

PYBIND11_MODULE(bad, m) {
#ifdef WRONG
  dlbridge::def_fast(m, "same", [](argument const& x) -> argument const& { return x; });
#else
  dlbridge::def_fast(m, "same", [](argument x) { return x; });
#endif
}
