// SPDX-License-Identifier: BSD-3-Clause
// The tensor of a temporary owner would dangle.
// says: dangles: keep it in a variable
#include <dlbridge/shared_tensor.hpp>

dlbridge::shared_tensor make();

void use() {
  dlbridge::shared_tensor const owner = make();
#ifdef WRONG
  dlbridge::tensor_view const view = make().get().view();
#else
  dlbridge::tensor_view const view = owner.get().view();
#endif
  static_cast<void>(view);
}
