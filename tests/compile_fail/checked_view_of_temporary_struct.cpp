// SPDX-License-Identifier: BSD-3-Clause
// A view refers to the shape of its struct, so view_of refuses a temporary struct.
// says: dangles: name the struct
#include <dlbridge/validate.hpp>

DLTensor make();

void use() {
  DLTensor const tensor = make();
#ifdef WRONG
  dlbridge::view_of(make());
#else
  dlbridge::view_of(tensor);
#endif
}
