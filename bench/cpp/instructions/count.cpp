// SPDX-License-Identifier: BSD-3-Clause
// Runs each case of bench/py/cpp_instructions.py 1000 times at the ranks 0 to 8. Under callgrind it
// writes one profile for each case and rank, and prints their names in the same order, and last the
// compiler.
#include <dlbridge/build.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/exchange_table.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/tensor.hpp>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else  // the script then finds no profiles
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS
#define CALLGRIND_STOP_INSTRUMENTATION
#endif

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <type_traits>
#include <utility>

#if defined(DLBRIDGE_BENCH_TVM_FFI)
#include <tvm/ffi/container/tensor.h>
#endif

#include "../tensors.hpp"
#include "../vector_context.hpp"

namespace {

using dlbridge::dynamic_extent;
using dlbridge::managed_tensor;
using dlbridge::tensor_view;

// A lambda expression that is inlined into the loop, so that no count contains its call.
#define BODY(...) [__VA_ARGS__]() __attribute__((always_inline))

constexpr int repeats = 1000;
constexpr int ranks = 9;

// Hides from the compiler which object the pointer refers to, so that it repeats what it reads.
template <class T>
T* opaque(T* pointer) noexcept {
  asm volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}
// Makes the compiler compute a number, or the object that a pointer refers to.
template <class T>
void use(T const& value) noexcept {
  if constexpr (std::is_class_v<T>) {
    asm volatile("" : : "r"(&value) : "memory");
  } else {
    asm volatile("" : : "r"(value));
  }
}

template <class Body>
__attribute__((noinline)) void repeat(Body body) {
  for (int i = 0; i < repeats; ++i) {
    body();
  }
}

template <class Body>
void profile(char const* name, int rank, Body body) {
  repeat(body);  // the first calls resolve symbols and fill the caches of malloc
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
  repeat(body);
  CALLGRIND_DUMP_STATS;
  CALLGRIND_STOP_INSTRUMENTATION;
  std::printf("%d %s\n", rank, name);
}

template <int Rank, class Extents = std::make_integer_sequence<int, Rank>>
struct shape_of;
template <int Rank, int... I>
struct shape_of<Rank, std::integer_sequence<int, I...>> {
  using type = dlbridge::shape<(static_cast<void>(I), dynamic_extent)...>;
};
template <int Rank, class... Constraints>
using span_of = dlbridge::tensor_span<float const, typename shape_of<Rank>::type, Constraints...>;

// The exchange table of a producer in the same program, which does nothing else.
#if DLBRIDGE_DLPACK_AT_LEAST(3)
int lend(void* object, DLTensor* out) {
  *out = static_cast<DLManagedTensorVersioned*>(object)->dl_tensor;
  return 0;
}
int give(void* object, DLManagedTensorVersioned** out) {
  *out = static_cast<DLManagedTensorVersioned*>(object);
  return 0;
}
DLPackExchangeAPI table_of_producer() {
  DLPackExchangeAPI table = {};
  table.header.version = {1, 3};
  table.dltensor_from_py_object_no_sync = &lend;
  table.managed_tensor_from_py_object_no_sync = &give;
  return table;
}
#endif

void profile_owners(int rank) {
  bench_tensor tensor(rank);
  DLManagedTensorVersioned* const raw = tensor.get();
  profile("empty", rank, BODY(raw) { use(opaque(raw)); });
  profile("deleter", rank, BODY(raw) { opaque(raw)->deleter(raw); });
  profile(
      "adopt, move, reset", rank, BODY(raw) {
        managed_tensor first = managed_tensor::adopt(opaque(raw));
        managed_tensor second(std::move(first));
        second.reset();
      });
  profile(
      "adopt, move, destroy", rank, BODY(raw) {
        managed_tensor first = managed_tensor::adopt(opaque(raw));
        managed_tensor second(std::move(first));
      });
  profile(
      "steal, reset", rank, BODY(raw) {
        managed_tensor owned = managed_tensor::steal(opaque(raw));
        owned.reset();
      });
  profile(
      "shared_ptr, drop", rank, BODY(raw) {
        std::shared_ptr<DLManagedTensorVersioned> const owned(
            opaque(raw), [](DLManagedTensorVersioned* m) { m->deleter(m); });
        use(owned);
      });
#if defined(DLBRIDGE_BENCH_TVM_FFI)
  profile(
      "tvm_ffi Tensor, drop", rank, BODY(raw) {
        tvm::ffi::Tensor const owned = tvm::ffi::Tensor::FromDLPackVersioned(opaque(raw));
        use(owned);
      });
#endif
#if DLBRIDGE_DLPACK_AT_LEAST(3)
  static DLPackExchangeAPI const api = table_of_producer();
  static dlbridge::exchange_table const table = dlbridge::exchange_table::find(&api.header);
  profile(
      "table: lend", rank, BODY(raw) {
        DLTensor lent;
        static_cast<void>(opaque(&api)->dltensor_from_py_object_no_sync(raw, &lent));
        use(lent);
      });
  profile(
      "exchange_table: borrow, check", rank, BODY(raw, rank) {
        dlbridge::requirement need;
        need.type = dlbridge::dtype_of<float>();
        need.rank = *opaque(&rank);
        DLTensor lent;
        use(opaque(&table)->try_lend(raw, lent) && dlbridge::detail::fits_fast_path(lent, need));
      });
  profile(
      "table: export, delete", rank, BODY(raw) {
        DLManagedTensorVersioned* exported = nullptr;
        static_cast<void>(opaque(&api)->managed_tensor_from_py_object_no_sync(raw, &exported));
        exported->deleter(exported);
      });
  profile(
      "exchange_table: export, reset", rank, BODY(raw) {
        dlbridge::report why;
        managed_tensor owned = opaque(&table)->try_export(raw, why);
        owned.reset();
      });
#endif
}

// What every check is followed by.
void require(bool condition) noexcept {
  if (!condition) {
    std::abort();
  }
}

template <class Span, int... I>
void read_layout(Span const& span, std::integer_sequence<int, I...>) {
  (use(span.extent(I)), ...);
  (use(span.stride(I)), ...);
}

template <int Rank>
void profile_views() {
  bench_tensor tensor(Rank);
  bench_tensor transposed(Rank, false);
  DLTensor const* const raw = &tensor.get()->dl_tensor;
  profile(
      "validate a foreign tensor", Rank, BODY(raw) {
        require(dlbridge::detail::find_flaw(*opaque(raw)) == dlbridge::detail::flaw::none);
      });
  tensor_view const view(*raw);
  tensor_view const other(transposed.get()->dl_tensor);
  profile(
      "check a view", Rank, BODY(&view) {
        require(dlbridge::meets(*opaque(&view), dlbridge::detail::required_by<span_of<Rank>>));
      });
  profile(
      "check a view, read it", Rank, BODY(&view) {
        span_of<Rank> const span(*opaque(&view));
        use(span.data());
        read_layout(span, std::make_integer_sequence<int, Rank>());
      });
  profile(
      "check a row-major view, read it", Rank, BODY(&view) {
        span_of<Rank, dlbridge::row_major> const span(*opaque(&view));
        use(span.data());
      });
  profile("is_row_major", Rank, BODY(&view) { require(opaque(&view)->is_row_major()); });
  profile(
      "is_row_major of column-major", Rank,
      BODY(&other) { require(opaque(&other)->is_row_major() == (Rank < 2)); });
  profile("is_column_major", Rank, BODY(&other) { require(opaque(&other)->is_column_major()); });
}

void profile_exports(int rank) {
  profile(
      "malloc, free", rank, BODY(rank) {
        auto const dimensions = static_cast<std::size_t>(*opaque(&rank));
        void* const memory = std::malloc(112 + 16 * dimensions);
        use(memory);
        std::free(memory);
      });
  profile(
      "build, reset", rank, BODY(rank) {
        managed_tensor tensor = dlbridge::build(small_array{bench_memory, *opaque(&rank)});
        tensor.reset();
      });
  profile(
      "two vectors and shared_ptr", rank, BODY(rank) {
        DLManagedTensorVersioned* const tensor = export_with_vectors(
            std::make_shared<small_array>(small_array{bench_memory, *opaque(&rank)}));
        tensor->deleter(tensor);
      });
}

template <int... Rank>
void profile_all(std::integer_sequence<int, Rank...>) {
  (profile_owners(Rank), ...);
  (profile_views<Rank>(), ...);
  (profile_exports(Rank), ...);
}

}  // namespace

int main() {
  static_assert(sizeof(managed_tensor) == sizeof(void*));
  profile_all(std::make_integer_sequence<int, ranks>());
#if defined(__clang__)
  std::printf("clang++ %d\n", __clang_major__);
#elif defined(__GNUC__)
  std::printf("g++ %d\n", __GNUC__);
#endif
}
