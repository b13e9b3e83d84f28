// SPDX-License-Identifier: BSD-3-Clause
// The speed of copies to row-major memory that is in use, compared with memcpy of the same number
// of bytes: layouts x element sizes x sizes, small tensors, the plan alone, and two threads.
#include <benchmark/benchmark.h>

#include <dlbridge/host_memory.hpp>
#include <dlbridge/parallel_copy.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using sizes = std::vector<std::int64_t>;
using dlbridge::tensor_view;

/// The shape of a source and its strides.
struct layout {
  sizes shape;
  sizes strides;
};

std::int64_t power_of_two(std::int64_t count) {  // whose square is at most count
  std::int64_t side = 1;
  while (4 * side * side <= count) {
    side *= 2;
  }
  return side;
}

/// A layout of about n elements.
struct layout_case {
  char const* name;
  layout (*of)(std::int64_t n);
};

layout_case const layouts[] = {
    {"contiguous", [](std::int64_t n) { return layout{{n}, {1}}; }},
    {"padded_rows",
     [](std::int64_t n) {
       std::int64_t const width = std::min<std::int64_t>(448, n);
       return layout{{n / width, width}, {512, 1}};
     }},
    {"rows_of_7_of_8", [](std::int64_t n) { return layout{{n / 8, 7}, {8, 1}}; }},
    {"every_second", [](std::int64_t n) { return layout{{n}, {2}}; }},
    {"every_third", [](std::int64_t n) { return layout{{n}, {3}}; }},
    {"reversed", [](std::int64_t n) { return layout{{n}, {-1}}; }},
    {"transposed_power_of_two",
     [](std::int64_t n) {
       std::int64_t const side = power_of_two(n);
       return layout{{side, n / side}, {1, side}};
     }},
    {"transposed_odd",
     [](std::int64_t n) {
       std::int64_t const side = power_of_two(n) - 1;
       return layout{{side, n / side | 1}, {1, side}};
     }},
    {"NCHW_to_NHWC_64",
     [](std::int64_t n) {
       std::int64_t const width = power_of_two(n / 64);
       std::int64_t const height = n / 64 / width;
       return layout{{height, width, 64}, {width, 1, height * width}};
     }},
    {"NHWC_to_NCHW_3",
     [](std::int64_t n) {
       std::int64_t const width = power_of_two(n / 3);
       return layout{{3, n / 3 / width, width}, {1, 3 * width, 3}};
     }},
    {"axes_reversed_3d",
     [](std::int64_t n) {
       auto const edge = static_cast<std::int64_t>(std::cbrt(n));
       return layout{{edge, edge, edge}, {1, edge, edge * edge}};
     }},
    {"broadcast",
     [](std::int64_t n) {
       std::int64_t const side = power_of_two(n);
       return layout{{side, n / side}, {1, 0}};
     }},
};

struct size_case {
  char const* name;
  std::int64_t bytes;
};
size_case const copy_sizes[] = {
    {"4KiB", 4 << 10}, {"64KiB", 64 << 10}, {"2MiB", 2 << 20}, {"32MiB", 32 << 20}};

/// Memory that all benchmarks share, with room for the longest strides.
char* memory(int which) {
  static auto const blocks = [] {
    auto const block = [](std::int64_t bytes) {
      auto m = dlbridge::build_empty(dlbridge::dtype(kDLUInt, 8), {bytes});
      std::memset(m.view().mutable_data(), 1, static_cast<std::size_t>(bytes));
      return m;
    };
    return std::make_pair(block(100 << 20), block(33 << 20));
  }();
  return static_cast<char*>((which == 0 ? blocks.first : blocks.second).view().mutable_data());
}

/// Elements of `bytes` bytes in a layout; row-major without strides.
DLTensor tensor_of(layout& l, bool row_major, std::int64_t bytes) {
  DLTensor t{};
  t.data = memory(row_major ? 1 : 0);
  t.device = dlbridge::cpu.abi();
  t.ndim = static_cast<std::int32_t>(l.shape.size());
  t.dtype = {kDLUInt, 8, static_cast<std::uint16_t>(bytes)};
  t.shape = l.shape.data();
  t.strides = row_major ? nullptr : l.strides.data();
  if (!row_major && !l.strides.empty() && l.strides[0] < 0) {
    t.byte_offset = static_cast<std::uint64_t>((l.shape[0] - 1) * bytes);
  }
  return t;
}

/// Calls part 1 in a thread of its own.
struct two_threads {
  template <class Body>
  void operator()(int, Body const& body) const {
    std::thread other(body, 1);
    body(0);
    other.join();
  }
};

void copy_layout(benchmark::State& state, layout l, std::int64_t element, int parts) {
  DLTensor const from = tensor_of(l, false, element);
  DLTensor const to = tensor_of(l, true, element);
  tensor_view const source(from);
  tensor_view const destination(to);
  std::int64_t const bytes = source.count() * element;
  // Seconds; for one thread those of the processor, which may interrupt a long copy.
  auto const now = [parts] {
    return parts == 1
               ? static_cast<double>(std::clock()) / CLOCKS_PER_SEC
               : std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
                     .count();
  };
  double const start = now();
  for (auto _ : state) {
    parts == 1 ? dlbridge::copy(source, destination)
               : dlbridge::copy(source, destination, parts, two_threads{});
    benchmark::ClobberMemory();
  }
  double const end = now();
  for (benchmark::IterationCount i = 0; i < state.iterations(); ++i) {
    std::memcpy(memory(1), memory(0), static_cast<std::size_t>(bytes));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * bytes);
  state.counters["vs_memcpy"] = (now() - end) / (end - start);
}

void plan_only(benchmark::State& state, layout l) {
  DLTensor const from = tensor_of(l, false, 4);
  DLTensor const to = tensor_of(l, true, 4);
  for (auto _ : state) {
    auto plan = dlbridge::detail::plan_copy(tensor_view(from), tensor_view(to), 4, 4);
    benchmark::DoNotOptimize(plan);
  }
}

/// The shape with its axes reversed in memory.
layout column_major(sizes shape) {
  sizes strides(shape.size());
  dlbridge::fill_column_major(static_cast<int>(shape.size()), shape.data(), strides.data());
  return {std::move(shape), std::move(strides)};
}

int register_all() {
  using benchmark::RegisterBenchmark;
  for (layout_case const& each : layouts) {
    std::string const name = std::string("Copy/") + each.name;
    for (size_case const& size : copy_sizes) {
      for (std::int64_t const element : {1, 2, 4, 8, 16}) {
        RegisterBenchmark((name + "/" + std::to_string(element) + "/" + size.name).c_str(),
                          copy_layout, each.of(size.bytes / element), element, 1);
      }
      if (size.bytes > dlbridge::least_bytes_of_part) {
        RegisterBenchmark((name + "/4/" + size.name + "/two_threads").c_str(), copy_layout,
                          each.of(size.bytes / 4), 4, 2)
            ->UseRealTime();
      }
    }
  }
  for (std::int64_t const side : {4, 16, 64}) {
    std::string const name = std::to_string(side) + "x" + std::to_string(side);
    RegisterBenchmark(("Copy_Small/" + name).c_str(), copy_layout, column_major({side, side}), 4,
                      1);
  }
  RegisterBenchmark("Copy_Small/8x8x8", copy_layout, column_major({8, 8, 8}), 4, 1);
  for (std::size_t const rank : {0U, 1U, 2U, 4U, 8U}) {
    RegisterBenchmark(("Copy_PlanOnly/" + std::to_string(rank)).c_str(), plan_only,
                      column_major(sizes(rank, 2)));
  }
  return 0;
}

[[maybe_unused]] int const registered = register_all();

}  // namespace
