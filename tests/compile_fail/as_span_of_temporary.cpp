// SPDX-License-Identifier: BSD-3-Clause
// A span of a temporary owner would dangle.
// std: c++20
// says: dangles: keep it in a variable
#include <dlbridge/as.hpp>

dlbridge::managed_tensor make();

void use() {
  dlbridge::managed_tensor const owner = make();
#ifdef WRONG
  dlbridge::as_span<float const>(make());
#else
  dlbridge::as_span<float const>(owner);
#endif
}
