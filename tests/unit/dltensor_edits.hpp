// Functions that modify float32[2, 3] on the CPU, with strides [3, 1], before it is exported.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>

#include <cstdint>

inline void set_shape(DLTensor& t, std::int64_t first, std::int64_t second) {
  t.shape[0] = first;
  t.shape[1] = second;
}
inline void set_strides(DLTensor& t, std::int64_t first, std::int64_t second) {
  t.strides[0] = first;
  t.strides[1] = second;
}
inline void set_dtype(DLTensor& t, dlbridge::dtype type) { t.dtype = type.abi(); }
inline void set_device(DLTensor& t, int type) { t.device = dlbridge::device(type, 0).abi(); }
inline void set_no_shape(DLTensor& t) {
  t.ndim = 0;
  t.shape = nullptr;
  t.strides = nullptr;
}
