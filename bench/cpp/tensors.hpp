// bench_tensor: a managed tensor of any rank for the benchmarks, in static memory.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlpack/dlpack.h>

#include <cstdint>
#include <vector>

/// A float32 tensor of a given rank with extents 2, row-major or column-major. Its deleter does
/// nothing, so the benchmarks measure only dlbridge.
class bench_tensor {
 public:
  explicit bench_tensor(int rank, bool row_major = true)
      : shape_(static_cast<std::size_t>(rank), 2), strides_(static_cast<std::size_t>(rank)) {
    std::int64_t step = 1;
    for (int n = 0; n < rank; ++n) {
      strides_[static_cast<std::size_t>(row_major ? rank - 1 - n : n)] = step;
      step *= 2;
    }
    managed_.version = {1, 1};
    managed_.deleter = [](DLManagedTensorVersioned*) {};
    managed_.dl_tensor.data = memory;
    managed_.dl_tensor.device = {kDLCPU, 0};
    managed_.dl_tensor.ndim = rank;
    managed_.dl_tensor.dtype = {kDLFloat, 32, 1};
    managed_.dl_tensor.shape = shape_.data();
    managed_.dl_tensor.strides = strides_.data();
  }
  DLManagedTensorVersioned* get() { return &managed_; }

 private:
  alignas(64) inline static float memory[256] = {};
  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> strides_;
  DLManagedTensorVersioned managed_{};
};
