// SPDX-License-Identifier: BSD-3-Clause
// The cost of owning a managed tensor, compared with the usual handle of a project.
#include <benchmark/benchmark.h>

#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/shared_tensor.hpp>

#include <memory>
#include <utility>

#include "tensors.hpp"

using dlbridge::managed_tensor;

static void Own_AdoptMoveRelease(benchmark::State& state) {
  bench_tensor tensor(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    managed_tensor first = managed_tensor::adopt(tensor.get());
    benchmark::DoNotOptimize(first);
    managed_tensor second(std::move(first));
    benchmark::DoNotOptimize(second);
  }
}
BENCHMARK(Own_AdoptMoveRelease)->Arg(0)->Arg(2)->Arg(8);

static void Own_StealWithAllChecks(benchmark::State& state) {
  bench_tensor tensor(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    managed_tensor owned = managed_tensor::steal(tensor.get());
    benchmark::DoNotOptimize(owned);
  }
}
BENCHMARK(Own_StealWithAllChecks)->Arg(0)->Arg(2)->Arg(8);

static void Own_SharePair(benchmark::State& state) {
  bench_tensor tensor(2);
  dlbridge::shared_tensor shared(managed_tensor::adopt(tensor.get()));
  for (auto _ : state) {
    dlbridge::shared_tensor copy = shared;
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(Own_SharePair);

static void Usual_SharedPtr(benchmark::State& state) {
  bench_tensor tensor(2);
  for (auto _ : state) {
    std::shared_ptr<DLManagedTensorVersioned> owned(
        tensor.get(), [](DLManagedTensorVersioned* m) { m->deleter(m); });
    benchmark::DoNotOptimize(owned);
  }
}
BENCHMARK(Usual_SharedPtr);
