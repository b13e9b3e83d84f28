// SPDX-License-Identifier: BSD-3-Clause
// The constructor of an owner does not say whether the struct is validated.
// says: managed_tensor::steal.raw. takes ownership
#include <dlbridge/managed_tensor.hpp>

dlbridge::managed_tensor use(DLManagedTensor* raw) {
#ifdef WRONG
  return dlbridge::managed_tensor(raw);
#else
  return dlbridge::managed_tensor::steal(raw);
#endif
}
