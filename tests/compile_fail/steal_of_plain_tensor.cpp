// SPDX-License-Identifier: BSD-3-Clause
// A DLTensor has no deleter, so it cannot be owned.
// says: a plain DLTensor has no deleter, so nothing can own it
#include <dlbridge/managed_tensor.hpp>

#ifdef WRONG
using tensor = DLTensor;
#else
using tensor = DLManagedTensorVersioned;
#endif

dlbridge::managed_tensor use(tensor* raw) { return dlbridge::managed_tensor::steal(raw); }
