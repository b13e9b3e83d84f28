// SPDX-License-Identifier: BSD-3-Clause
// The memory of a converted copy is aligned to 64 bytes.
// lines: 80
// says: a converted copy is aligned to 64 bytes
#include <dlbridge/pybind11.hpp>

#ifdef WRONG
using alignment = dlbridge::aligned<128>;
#else
using alignment = dlbridge::aligned<64>;
#endif

PYBIND11_MODULE(bad, m) {
  dlbridge::def(m, "count", [](dlbridge::convert<float, dlbridge::dynamic_rank, alignment> x) {
    return x.count();
  });
}
