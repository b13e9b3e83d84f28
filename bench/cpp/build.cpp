// SPDX-License-Identifier: BSD-3-Clause
// The cost of exporting an array, compared with the usual context of two vectors and a shared_ptr.
#include <benchmark/benchmark.h>

#include <memory>

#include "vector_context.hpp"

static void Build_AndRelease(benchmark::State& state) {
  int const rank = static_cast<int>(state.range(0));
  for (auto _ : state) {
    dlbridge::managed_tensor tensor = dlbridge::build(small_array{bench_memory, rank});
    benchmark::DoNotOptimize(tensor);
  }
}
BENCHMARK(Build_AndRelease)->Arg(0)->Arg(2)->Arg(8);

static void Usual_VectorsAndSharedPtr(benchmark::State& state) {
  int const rank = static_cast<int>(state.range(0));
  for (auto _ : state) {
    DLManagedTensorVersioned* tensor =
        export_with_vectors(std::make_shared<small_array>(small_array{bench_memory, rank}));
    benchmark::DoNotOptimize(tensor);
    tensor->deleter(tensor);
  }
}
BENCHMARK(Usual_VectorsAndSharedPtr)->Arg(0)->Arg(2)->Arg(8);
