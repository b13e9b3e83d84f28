// SPDX-License-Identifier: BSD-3-Clause
// Without exceptions and RTTI every header without Python compiles, and raise calls
// DLBRIDGE_ON_ERROR with the report.
#include "on_error.hpp"

#include <dlbridge/dlbridge.hpp>
#include <dlbridge/runtime.hpp>

static_assert(DLBRIDGE_EXCEPTIONS == 0);

// A program ends at its first refusal: `number` selects it.
int main(int number, char**) {
  float elements[2] = {};
  if (number == 2) {
    dlbridge::managed_tensor const two = dlbridge::build(dlbridge::borrow(elements, {2}));
    dlbridge::tensor_span<float, dlbridge::shape<2>>(two).at(7) = 1;
  } else if (number == 3) {
    dlbridge::managed_tensor const none = dlbridge::build(dlbridge::borrow(elements, {2, 0}));
    dlbridge::tensor_span<float, dlbridge::shape<2, 0>>(none).at(1, -1) = 1;
  }
  DLManagedTensorVersioned broken = {};
  broken.version.major = 1;
  broken.dl_tensor.ndim = -1;
  dlbridge::report why;
  if (dlbridge::managed_tensor::try_steal(&broken, why) || why.ok()) {
    return 1;  // functions named try_ work without exceptions
  }
  static_cast<void>(dlbridge::managed_tensor::steal(&broken));
  return 1;
}
