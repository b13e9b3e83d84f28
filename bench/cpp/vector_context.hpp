// small_array, export_with_vectors: an array to export, and the usual code of a project that
// exports it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/build.hpp>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

struct small_array {
  float* data;
  int rank;
};

alignas(64) inline float bench_memory[256];
inline constexpr std::int64_t twos[] = {2, 2, 2, 2, 2, 2, 2, 2};

template <>
struct dlbridge::array_traits<small_array> {
  static constexpr bool borrows = true;
  static description describe(small_array& a) noexcept {
    return description::of(a.data, dims::from(twos, static_cast<std::size_t>(a.rank)));
  }
};

// A context with vectors for shape and strides.
struct vector_context {
  std::shared_ptr<small_array> array;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  DLManagedTensorVersioned managed;
};

inline DLManagedTensorVersioned* export_with_vectors(std::shared_ptr<small_array> array) {
  int const rank = array->rank;
  auto* context = new vector_context{std::move(array), {}, {}, {}};
  for (int i = 0; i < rank; ++i) {
    context->shape.push_back(2);
    context->strides.push_back(std::int64_t{1} << (rank - 1 - i));
  }
  context->managed.version = {1, 1};
  context->managed.manager_ctx = context;
  context->managed.deleter = [](DLManagedTensorVersioned* m) {
    delete static_cast<vector_context*>(m->manager_ctx);
  };
  DLTensor& t = context->managed.dl_tensor;
  t.data = context->array->data;
  t.device = {kDLCPU, 0};
  t.ndim = rank;
  t.dtype = {kDLFloat, 32, 1};
  t.shape = context->shape.data();
  t.strides = context->strides.data();
  return &context->managed;
}
