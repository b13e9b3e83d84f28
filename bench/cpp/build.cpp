// What does it cost to hand an array out, beside the usual two vectors and a shared_ptr?
#include <benchmark/benchmark.h>

#include <dlbridge/builder.hpp>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace {

struct small_array {
  float* data;
  int rank;
};

alignas(64) float memory[256];
constexpr std::int64_t twos[] = {2, 2, 2, 2, 2, 2, 2, 2};

// What projects write by hand: a context with vectors for shape and strides.
struct by_hand {
  std::shared_ptr<small_array> array;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  DLManagedTensorVersioned managed;
};

DLManagedTensorVersioned* export_by_hand(std::shared_ptr<small_array> array) {
  int const rank = array->rank;
  auto* made = new by_hand{std::move(array), {}, {}, {}};
  for (int i = 0; i < rank; ++i) {
    made->shape.push_back(2);
    made->strides.push_back(std::int64_t{1} << (rank - 1 - i));
  }
  made->managed.version = {1, 1};
  made->managed.manager_ctx = made;
  made->managed.deleter = [](DLManagedTensorVersioned* m) {
    delete static_cast<by_hand*>(m->manager_ctx);
  };
  DLTensor& t = made->managed.dl_tensor;
  t.data = made->array->data;
  t.device = {kDLCPU, 0};
  t.ndim = rank;
  t.dtype = {kDLFloat, 32, 1};
  t.shape = made->shape.data();
  t.strides = made->strides.data();
  return &made->managed;
}

}  // namespace

template <>
struct dlbridge::array_traits<small_array> {
  static description describe(small_array& a) noexcept {
    return description::of(a.data, dims::from(twos, static_cast<std::size_t>(a.rank)));
  }
};

static void Build_AndRelease(benchmark::State& state) {
  int const rank = static_cast<int>(state.range(0));
  for (auto _ : state) {
    dlbridge::managed_tensor made = dlbridge::build(small_array{memory, rank});
    benchmark::DoNotOptimize(made);
  }
}
BENCHMARK(Build_AndRelease)->Arg(0)->Arg(2)->Arg(8);

static void ByHand_VectorsAndSharedPtr(benchmark::State& state) {
  int const rank = static_cast<int>(state.range(0));
  for (auto _ : state) {
    DLManagedTensorVersioned* made =
        export_by_hand(std::make_shared<small_array>(small_array{memory, rank}));
    benchmark::DoNotOptimize(made);
    made->deleter(made);
  }
}
BENCHMARK(ByHand_VectorsAndSharedPtr)->Arg(0)->Arg(2)->Arg(8);
