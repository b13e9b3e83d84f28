// The cost of exporting an array, compared with the usual context of two vectors and a shared_ptr.
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

// The usual code of a project: a context with vectors for shape and strides.
struct vector_context {
  std::shared_ptr<small_array> array;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  DLManagedTensorVersioned managed;
};

DLManagedTensorVersioned* export_with_vectors(std::shared_ptr<small_array> array) {
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
    dlbridge::managed_tensor tensor = dlbridge::build(small_array{memory, rank});
    benchmark::DoNotOptimize(tensor);
  }
}
BENCHMARK(Build_AndRelease)->Arg(0)->Arg(2)->Arg(8);

static void Usual_VectorsAndSharedPtr(benchmark::State& state) {
  int const rank = static_cast<int>(state.range(0));
  for (auto _ : state) {
    DLManagedTensorVersioned* tensor =
        export_with_vectors(std::make_shared<small_array>(small_array{memory, rank}));
    benchmark::DoNotOptimize(tensor);
    tensor->deleter(tensor);
  }
}
BENCHMARK(Usual_VectorsAndSharedPtr)->Arg(0)->Arg(2)->Arg(8);
