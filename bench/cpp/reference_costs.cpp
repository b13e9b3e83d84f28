// SPDX-License-Identifier: BSD-3-Clause
// Reference costs: an empty loop, an allocation, an atomic increment and decrement.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdlib>

static void Anchor_EmptyLoop(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::ClobberMemory();
  }
}
BENCHMARK(Anchor_EmptyLoop);

static void Anchor_MallocFree(benchmark::State& state) {
  for (auto _ : state) {
    void* memory = std::malloc(static_cast<std::size_t>(state.range(0)));
    benchmark::DoNotOptimize(memory);
    std::free(memory);
  }
}
BENCHMARK(Anchor_MallocFree)->Arg(64)->Arg(144)->Arg(256);

static void Anchor_AtomicPair(benchmark::State& state) {
  static std::atomic<int> count{0};
  for (auto _ : state) {
    count.fetch_add(1, std::memory_order_relaxed);
    count.fetch_sub(1, std::memory_order_acq_rel);
  }
}
BENCHMARK(Anchor_AtomicPair);
