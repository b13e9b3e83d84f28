// The DLPack functions of the library, by hand (before.cpp) and with dlbridge (after.cpp).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlpack/dlpack.h>

#include "array.hpp"

// to_dlpack returns a tensor on the memory of an array, which it keeps alive. The caller must call
// its deleter. from_dlpack returns an array on the memory of a tensor, which it takes, also if it
// throws. Both throw a std::exception if the other side cannot describe the argument.

namespace nd::before {
DLManagedTensorVersioned* to_dlpack(array a);
array from_dlpack(DLManagedTensorVersioned* tensor);
array from_dlpack(DLManagedTensor* tensor);
}  // namespace nd::before

namespace nd::after {
DLManagedTensorVersioned* to_dlpack(array a);
array from_dlpack(DLManagedTensorVersioned* tensor);
array from_dlpack(DLManagedTensor* tensor);
}  // namespace nd::after
