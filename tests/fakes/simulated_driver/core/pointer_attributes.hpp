// pointer_attribute: the attributes that CUDA and HIP report for an address, with their shared
// numbers.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace simulated {

enum class pointer_attribute : int {
  context = 1,
  memory_type = 2,
  device_pointer = 3,
  host_pointer = 4,
  buffer_id = 7,
  is_managed = 8,
  device_ordinal = 9,
  range_start = 11,
  range_size = 12,
  is_mapped = 13,
};

// Stores the value of an attribute in the caller's variable.
template <class T>
void store(void* out, T value) {
  *static_cast<T*>(out) = value;
}

}  // namespace simulated
