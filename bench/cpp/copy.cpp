// The speed of a copy, compared with memcpy of the same number of bytes.
#include <benchmark/benchmark.h>

#include <dlbridge/bridges/std.hpp>
#include <dlbridge/builder.hpp>
#include <dlbridge/copy.hpp>

#include <cstdint>
#include <cstring>
#include <vector>

namespace {

constexpr std::int64_t rows = 512;
constexpr std::int64_t columns = 1024;  // 2 MiB of float32

struct layout_case {
  char const* name;
  dlbridge::dims strides;  // of the source, in elements
};

layout_case const cases[] = {
    {"contiguous", {columns, 1}},       {"padded rows", {columns + 64, 1}},
    {"every second", {2 * columns, 2}}, {"transposed", {1, rows}},
    {"reversed", {-columns, -1}},
};

}  // namespace

static void Copy_Float32(benchmark::State& state) {
  layout_case const& each = cases[state.range(0)];
  state.SetLabel(each.name);
  std::vector<float> memory(static_cast<std::size_t>(4 * rows * columns), 1.0F);
  bool const reversed = each.strides[0] < 0;
  float* const first = memory.data() + (reversed ? rows * columns - 1 : 0);
  auto const source = dlbridge::build(dlbridge::borrow(first, {rows, columns}, each.strides));
  std::vector<float> target(static_cast<std::size_t>(rows * columns), 0.0F);
  auto const destination = dlbridge::build(dlbridge::borrow(target.data(), {rows, columns}));
  for (auto _ : state) {
    dlbridge::copy(source.view(), destination.view());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * rows * columns * 4);
}
BENCHMARK(Copy_Float32)->DenseRange(0, 4);

static void Anchor_Memcpy(benchmark::State& state) {
  std::vector<float> source(static_cast<std::size_t>(rows * columns), 1.0F);
  std::vector<float> target(static_cast<std::size_t>(rows * columns), 0.0F);
  for (auto _ : state) {
    std::memcpy(target.data(), source.data(), target.size() * sizeof(float));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * rows * columns * 4);
}
BENCHMARK(Anchor_Memcpy);
