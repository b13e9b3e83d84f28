// SPDX-License-Identifier: BSD-3-Clause
// The cost of access to a tensor: constructing a view, checking it, and constructing a typed span.
#include <benchmark/benchmark.h>

#include <dlbridge/check.hpp>
#include <dlbridge/tensor.hpp>

#include "tensors.hpp"

static void Access_View(benchmark::State& state) {
  bench_tensor tensor(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    dlbridge::tensor_view view(tensor.get()->dl_tensor);
    benchmark::DoNotOptimize(view);
  }
}
BENCHMARK(Access_View)->Arg(0)->Arg(2)->Arg(8);

static void Access_CheckForeign(benchmark::State& state) {
  bench_tensor tensor(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(dlbridge::detail::find_flaw(tensor.get()->dl_tensor));
  }
}
BENCHMARK(Access_CheckForeign)->Arg(0)->Arg(1)->Arg(2)->Arg(3)->Arg(4)->Arg(8);

static void Access_Requirement(benchmark::State& state) {
  bench_tensor tensor(static_cast<int>(state.range(0)));
  dlbridge::tensor_view const view(tensor.get()->dl_tensor);
  dlbridge::requirement need;
  need.type = dlbridge::dtype_of<float>();
  need.rank = static_cast<int>(state.range(0));
  need.alignment = alignof(float);
  for (auto _ : state) {
    benchmark::DoNotOptimize(dlbridge::meets(view, need));
  }
}
BENCHMARK(Access_Requirement)->Arg(0)->Arg(2)->Arg(8);

template <bool RowMajor>
static void Access_IsRowMajor(benchmark::State& state) {
  bench_tensor tensor(static_cast<int>(state.range(0)), RowMajor);
  dlbridge::tensor_view const view(tensor.get()->dl_tensor);
  for (auto _ : state) {
    benchmark::DoNotOptimize(view.is_row_major());
  }
}
BENCHMARK_TEMPLATE(Access_IsRowMajor, true)->Arg(0)->Arg(2)->Arg(4)->Arg(8);
BENCHMARK_TEMPLATE(Access_IsRowMajor, false)->Arg(2)->Arg(8);

static void Access_TensorSpan(benchmark::State& state) {
  bench_tensor tensor(2);
  for (auto _ : state) {
    dlbridge::tensor_view const view(tensor.get()->dl_tensor);
    dlbridge::tensor_span<float, dlbridge::shape<dlbridge::dynamic_extent, 2>> span(view);
    benchmark::DoNotOptimize(span(1, 1));
  }
}
BENCHMARK(Access_TensorSpan);
