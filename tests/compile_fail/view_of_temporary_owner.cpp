// SPDX-License-Identifier: BSD-3-Clause
// A view of a temporary owner would dangle.
// says: dangles: keep it in a variable
#include <dlbridge/build.hpp>

dlbridge::managed_tensor make();

void use() {
  dlbridge::managed_tensor const owner = make();
#ifdef WRONG
  dlbridge::tensor_view const view = make().view();
#else
  dlbridge::tensor_view const view = owner.view();
#endif
  static_cast<void>(view);
}
