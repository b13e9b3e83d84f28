// SPDX-License-Identifier: BSD-3-Clause
// A typed span of a temporary any_tensor would dangle.
// says: dangles: keep it in a variable
#include <dlbridge/any_tensor.hpp>

dlbridge::any_tensor make();

void use() {
  dlbridge::any_tensor const owner = make();
#ifdef WRONG
  auto const span = make().as<float, dlbridge::shape<2>>();
#else
  auto const span = owner.as<float, dlbridge::shape<2>>();
#endif
  static_cast<void>(span);
}
