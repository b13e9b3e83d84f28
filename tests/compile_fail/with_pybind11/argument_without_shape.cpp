// SPDX-License-Identifier: BSD-3-Clause
// The shape stands before the constraints, also of a parameter.
// lines: 40
// says: the second template argument is shape<...> or dynamic_rank. Write
#include <dlbridge/pybind11.hpp>

#ifdef WRONG
using image = dlbridge::argument<float const, dlbridge::row_major, dlbridge::on_host>;
#else
using image = dlbridge::argument<float const, dlbridge::dynamic_rank, dlbridge::row_major>;
#endif

void add(pybind11::module_& m) {
  dlbridge::def(m, "f", [](image x) { return x.empty_like(); });
}
