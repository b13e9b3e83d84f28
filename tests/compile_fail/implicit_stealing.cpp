// SPDX-License-Identifier: BSD-3-Clause
// Taking ownership of a raw pointer must be explicit in the code.
// says: managed_tensor::steal.raw. takes ownership
#include <dlbridge/managed_tensor.hpp>

void use(DLManagedTensorVersioned* raw) {
#ifdef WRONG
  dlbridge::managed_tensor const owner = raw;
#else
  dlbridge::managed_tensor const owner = dlbridge::managed_tensor::steal(raw);
#endif
  static_cast<void>(owner);
}
