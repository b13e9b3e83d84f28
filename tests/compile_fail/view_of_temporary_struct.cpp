// SPDX-License-Identifier: BSD-3-Clause
// A view refers to the shape of its struct, so its constructor refuses a temporary struct.
// says: dangles: keep it in a variable
#include <dlbridge/tensor_view.hpp>

DLTensor make();

void use() {
  DLTensor const tensor = make();
#ifdef WRONG
  dlbridge::tensor_view const view(make());
#else
  dlbridge::tensor_view const view(tensor);
#endif
  static_cast<void>(view);
}
