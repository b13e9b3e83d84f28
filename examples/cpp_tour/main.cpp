// SPDX-License-Identifier: BSD-3-Clause
// Every operation of docs/reference/cpp_overview.md, in its order: one function each, with
// assertions.
#undef NDEBUG  // keep the assertions in a release build
#include <array>
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#if __has_include(<version>)
#include <version>
#endif
#if defined(__cpp_lib_mdspan)
#include <mdspan>
#endif

#include <dlbridge/runtime.hpp>
// [hook]
#include <dlbridge/dlbridge.hpp>

class matrix {  // your array: doubles, each row padded to a multiple of four
 public:
  matrix(std::int64_t rows, std::int64_t columns)
      : rows_(rows),
        columns_(columns),
        pitch_((columns + 3) / 4 * 4),
        elements_(static_cast<std::size_t>(rows * pitch_)) {}
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t pitch() const { return pitch_; }
  double* data() { return elements_.data(); }
  double& operator()(std::int64_t i, std::int64_t j) { return data()[i * pitch_ + j]; }

 private:
  std::int64_t rows_, columns_, pitch_;
  std::vector<double> elements_;
};

template <>
struct dlbridge::array_traits<matrix> {
  static description describe(matrix& m) noexcept {
    return description::of(m.data(), {m.rows(), m.columns()}, {m.pitch(), 1});
  }
  static matrix adopt(managed_tensor&& tensor) {  // optional: import
    tensor_span<double const, shape<dynamic_extent, dynamic_extent>> const source{tensor};
    matrix result(source.extent(0), source.extent(1));
    for (std::int64_t i = 0; i < result.rows(); ++i) {
      for (std::int64_t j = 0; j < result.columns(); ++j) {
        result(i, j) = source(i, j);
      }
    }
    tensor.reset();  // copied: the producer may free it
    return result;
  }
};
// [/hook]

namespace {

DLManagedTensorVersioned* export_matrix() {
  return dlbridge::build(matrix(2, 3)).release_versioned();
}

void using_structs() {
  // [abi]
  DLDataType const type{kDLFloat, 64, 1};  // as functions of a library return them
  DLDevice const where{kDLCPU, 0};
  dlbridge::description d;
  d.type = dlbridge::dtype(type);
  d.device = dlbridge::device(where);

  auto const owned = dlbridge::build(matrix(2, 3));
  DLDataType const same_type = owned.view().dtype().abi();
  DLDevice const same_device = owned.view().device().abi();
  assert(same_type.bits == type.bits && same_device.device_type == where.device_type);
  // [/abi]
  assert(d.type == owned.view().dtype() && d.device == owned.view().device());
}

void owning() {
  // [steal]
  auto first = dlbridge::managed_tensor::steal(export_matrix());  // owned from here on
  auto second = std::move(first);
  assert(!first && second);

  // Released: the caller must call the deleter.
  DLManagedTensorVersioned* raw = second.release_versioned();
  assert(!second && raw != nullptr);
  raw->deleter(raw);
  // [/steal]
}

void refusing() {
  // [try_steal]
  DLManagedTensorVersioned* raw = export_matrix();
  raw->dl_tensor.ndim = -1;  // a broken producer

  dlbridge::report why;
  auto const owned = dlbridge::managed_tensor::try_steal(raw, why);  // its deleter has run
  assert(!owned && why.has(dlbridge::errc::malformed));
  // [/try_steal]
}

#if DLBRIDGE_DLPACK_AT_LEAST(2)
// A library whose Python type has an exchange table with one function.
DLPackExchangeAPI make_table() {
  DLPackExchangeAPI table{};
  table.header.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  table.managed_tensor_from_py_object_no_sync = [](void*, DLManagedTensorVersioned** out) {
    *out = export_matrix();
    return 0;
  };
  return table;
}

// [exchange]
// `first` is the pointer in the capsule `__dlpack_c_exchange_api__` of the object's type.
dlbridge::managed_tensor export_by_table(void const* first, void* object, dlbridge::report& why) {
  auto const table = dlbridge::exchange_table::find(first);
  if (!table || !table.can_export()) {
    return dlbridge::managed_tensor();  // call __dlpack__ instead
  }
  return table.try_export(object, why);
}
// [/exchange]

void exchanging() {
  DLPackExchangeAPI const table = make_table();
  dlbridge::report why;
  auto const owned = export_by_table(&table, nullptr, why);
  assert(owned && owned.view().rank() == 2);
  assert(!export_by_table(nullptr, nullptr, why) && why.ok());
}
#else
void exchanging() {}
#endif

void building() {
  // [build]
  matrix m(2, 3);
  double* const address = m.data();
  auto out = dlbridge::build(std::move(m));  // one allocation has the tensor and the matrix
  assert(out.view().data() == address && out.view().stride(0) == 4);

  auto shared = std::make_shared<matrix>(2, 3);
  auto once = dlbridge::build(std::shared_ptr<matrix>(shared));  // the tensor shares ownership
  auto twice = dlbridge::build(std::shared_ptr<matrix>(shared));
  assert(once.view().data() == twice.view().data() && shared.use_count() == 3);

  auto points = dlbridge::build(std::vector<std::array<float, 3>>(10));  // float32[10, 3]
  assert(points.view().rank() == 2);

  matrix const back = dlbridge::adopt_as<matrix>(std::move(out));
  assert(back.rows() == 2 && !out);
  // [/build]
}

void building_on() {
  // [build_on]
  auto pool = std::make_shared<std::vector<float>>(12);
  auto const window = dlbridge::description::of(pool->data() + 2, {2, 3}, {4, 1});  // in elements
  auto out = dlbridge::build_on(std::shared_ptr<void>(pool), window);
  assert(pool.use_count() == 2);  // the tensor only keeps the owner alive
  out.reset();
  assert(pool.use_count() == 1);

  static float const table[2][2] = {{1, 2}, {3, 4}};
  auto forever = dlbridge::build(dlbridge::borrow(table));  // no owner: static memory
  assert(forever.view().read_only());                       // as its elements are const
  // [/build_on]
}

void building_read_only() {
  // [read_only]
  auto frozen = dlbridge::build(std::make_shared<matrix const>(2, 3));
  assert(frozen.view().read_only());

  auto owner = std::make_shared<matrix>(2, 3);
  dlbridge::description d = dlbridge::describe(*owner);
  d.flags |= dlbridge::flag_read_only;
  auto guarded = dlbridge::build_on(std::move(owner), d);
  assert(guarded.view().read_only());
  // [/read_only]
}

void building_with_a_deleter() {
  // [deleter]
  struct with_free {
    void operator()(float* memory) const noexcept { std::free(memory); }
  };
  auto* const memory = static_cast<float*>(std::calloc(6, sizeof(float)));
  std::unique_ptr<float[], with_free> owner(memory);
  auto const out = dlbridge::build(dlbridge::with_shape(std::move(owner), {2, 3}));
  assert(out.view().data() == memory);
  // [/deleter]
}

void allocating() {
  // [allocator]
  dlbridge::host_allocator const allocator{
      [](std::size_t bytes, std::size_t alignment) noexcept -> void* {
        return ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
      },
      [](void* memory, std::size_t, std::size_t alignment) noexcept {
        ::operator delete(memory, std::align_val_t(alignment));
      }};
  auto const versioned = dlbridge::struct_kind::versioned;
  auto const empty = dlbridge::build_empty({kDLFloat, 32}, {2, 3}, versioned, allocator);
  auto const copied =
      dlbridge::copy_of(empty, dlbridge::layout::column_major, versioned, allocator);
  // [/allocator]
  assert(copied.view().stride(1) == 2);
}

void lending() {
  // [lend]
  dlbridge::shared_tensor const shared{dlbridge::build(matrix(2, 3))};
  auto const view = shared.get().view();
  auto one = dlbridge::lend(shared, view, dlbridge::struct_kind::versioned);
  auto other = dlbridge::lend(shared, view.with_flags(dlbridge::flag_read_only),
                              dlbridge::struct_kind::versioned);
  assert(one.view().data() == other.view().data() && other.view().read_only());
  // [/lend]
}

void changing_struct_kind() {
  // [struct_kinds]
  auto legacy = dlbridge::to_legacy(dlbridge::build(matrix(2, 3)));
  assert(legacy.get_versioned() == nullptr && legacy.get_legacy() != nullptr);
  auto versioned = dlbridge::to_versioned(std::move(legacy));  // same memory, wrapped once more
  DLManagedTensorVersioned* raw = versioned.release_versioned();
  assert(raw->version.major == 1);
  raw->deleter(raw);
  // [/struct_kinds]
}

void viewing() {
  auto const owned = dlbridge::build(matrix(2, 3));
  // [view]
  dlbridge::tensor_view const v = owned.view();  // refers to owned, which must outlive it
  assert(v.dtype() == dlbridge::dtype_of<double>() && v.device() == dlbridge::cpu);
  assert(v.rank() == 2 && v.extent(1) == 3 && v.stride(0) == 4 && v.count() == 6);
  assert(!v.read_only() && !v.is_row_major());  // its rows are padded
  assert(std::string_view(dlbridge::name_of(v).c_str()) == "float64[2, 3] on cpu");
  // [/view]

  // [check]
  std::int64_t const extents[] = {dlbridge::dynamic_extent, 4};
  dlbridge::requirement need;  // accepts everything that the CPU can read
  need.type = dlbridge::dtype_of<float>();
  need.rank = 2;
  need.extents = extents;
  need.order = dlbridge::layout::row_major;

  dlbridge::report const why = dlbridge::check_view(v, need);  // require_view(v, need) throws it
  assert(why.has(dlbridge::errc::dtype_mismatch) && why.has(dlbridge::errc::layout_mismatch));
  assert(std::string_view(dlbridge::message(why).c_str()) ==
         "expected float32[*, 4] on cpu, row-major; got float64[2, 3] on cpu with strides [4, 1]: "
         "dtype, extents, layout differ");
  // [/check]
}

// [typed]
using columns = dlbridge::shape<dlbridge::dynamic_extent, 3>;  // any number of rows, three columns

double sum(dlbridge::tensor_span<double const, columns> t) {  // borrows; const accepts read-only
  double total = 0;
  for (int i = 0; i < t.extent(0); ++i) {
    for (int j = 0; j < 3; ++j) {
      total += t(i, j);
    }
  }
  return total;
}

void fill(dlbridge::tensor<double, columns> const& t, double value) {  // owns; refuses read-only
  for (int i = 0; i < t.extent(0); ++i) {
    for (int j = 0; j < 3; ++j) {
      t(i, j) = value;
    }
  }
}
// [/typed]

void typing() {
  // [typed_use]
  dlbridge::tensor<double, columns> t{dlbridge::build(matrix(2, 3))};
  fill(t, 0.5);
  assert(sum(t.span()) == 3);
  dlbridge::managed_tensor back = std::move(t).release();
  // [/typed_use]
  assert(back);
}

void visiting() {
  // [visit]
  dlbridge::any_tensor const t{dlbridge::build(std::vector<std::int16_t>{1, 2, 3})};
  auto const bytes = dlbridge::visit(t, [](auto span) {  // called with tensor_span<T const>
    return static_cast<std::size_t>(span.count()) * sizeof(*span.data());
  });
  assert(bytes == 6);
  auto const numbers = t.as<std::int16_t const, dlbridge::shape<dlbridge::dynamic_extent>>();
  assert(numbers(2) == 3);
  // [/visit]

  // [visit_rank]
  using element_types = dlbridge::types<dlbridge::float16, float, double>;
  dlbridge::any_tensor const m{dlbridge::build(matrix(2, 3))};
  dlbridge::visit<element_types>(m, [](auto span) {
    using T = typename decltype(span)::element_type;
    using dlbridge::dynamic_extent;
    if (span.rank() == 2) {
      dlbridge::tensor_span<T, dlbridge::shape<dynamic_extent, dynamic_extent>> s(span.view());
      assert(s(1, 2) == 0);
    }
  });
  // [/visit_rank]
}

void storing_small_floats() {
  // [small_floats]
  using dlbridge::bfloat16;
  auto const tensor = dlbridge::build(std::vector<bfloat16>{bfloat16(1.5F), bfloat16(3)});
  dlbridge::tensor_span<bfloat16, dlbridge::shape<dlbridge::dynamic_extent>> const x(tensor);
  x(0) = bfloat16(x(0) * x(1) + 0.25F);  // the arithmetic is that of float
  assert(x(0) == 4.75F && x(0).bits() == 0x4098);
  // [/small_floats]
}

void broadcasting() {
  // [broadcast]
  using matrix = dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent>;
  auto const row = dlbridge::build(std::vector<float>{1, 2, 3});
  auto const rows = dlbridge::broadcast_to<float, matrix>(row, {4, 3});  // stride 0 repeats the row
  assert(rows(3, 2) == 3 && rows.stride(0) == 0 && rows.data() == row.view().data());
  auto const ones = dlbridge::broadcast_to<float, matrix>(1.0F, rows);  // the extents of rows
  assert(ones(3, 2) == 1 && ones.view().read_only());
  // [/broadcast]
}

void spanning() {
#if defined(__cpp_lib_span)
  // [span]
  auto const owned = dlbridge::build(std::vector<float>{1, 2, 3});
  std::span<float const> const all = dlbridge::as_span<float const>(owned);  // row-major, any rank
  assert(all.size() == 3 && all[1] == 2);
  // [/span]
#endif
#if defined(__cpp_lib_mdspan)
  // [mdspan]
  auto const grid = dlbridge::build(matrix(2, 3));
  using view = std::mdspan<double, std::extents<int, std::dynamic_extent, 3>, std::layout_stride>;
  view const m = dlbridge::as<view>(grid);  // the same for mdspan of Kokkos and cuda::std
  assert(m.extent(0) == 2 && m.stride(0) == 4);
  // [/mdspan]
#endif
}

void copying() {
  // [copy]
  auto const from = dlbridge::build(matrix(2, 3));
  auto const fresh = dlbridge::copy_of(from);  // compact, 64-byte aligned, marked as a copy
  assert(fresh.view().is_row_major() && fresh.view().is_copied());

  auto const to = dlbridge::build(matrix(2, 3));
  dlbridge::copy(from, to);  // same dtype and extents, any strides; the two may overlap
  // [/copy]
}

void converting() {
  // [convert]
  auto const integers = dlbridge::build(std::vector<std::int16_t>{1, -2, 3});
  auto const floats = dlbridge::converted_copy_of<float>(integers);
  assert(dlbridge::tensor_span<float const>(floats.view()).data()[1] == -2);
  assert(dlbridge::converts_to(integers.view().dtype(), dlbridge::dtype_of<float>()));
  // [/convert]
}

void copying_in_parts() {
  // [copy_parts]
  auto const run = [](int parts, auto const& body) {  // calls body(0) to body(parts - 1)
    std::vector<std::future<void>> others;            // whose destructors wait
    for (int part = 1; part < parts; ++part) {
      others.push_back(std::async(std::launch::async, body, part));
    }
    body(0);
  };
  auto const from = dlbridge::build(matrix(512, 1023));
  auto const fresh = dlbridge::copy_of(from, 4, run);  // in up to four threads

  auto const to = dlbridge::build(matrix(512, 1023));
  dlbridge::copy(fresh, to, 4, run);
  // [/copy_parts]
  assert(*static_cast<double const*>(to.view().data()) == 0);
}

void moving() {
  // [devices]
  dlbridge::device const gpu(kDLCUDA, 0);
  auto const stream = dlbridge::stream_ref::default_of(gpu);  // or stream_ref(gpu, your_stream)

  if (dlbridge::cuda() == nullptr) {  // no driver, or no device
    std::puts(dlbridge::message(dlbridge::cuda_status()).c_str());
  } else {
    auto const host = dlbridge::build(matrix(2, 3));
    auto const on_gpu = dlbridge::transfer(host, gpu, stream);
    auto const on_cpu = dlbridge::transfer(on_gpu, dlbridge::cpu, stream);
    assert(on_gpu.view().device() == gpu && on_cpu.view().is_copied());
  }
  // [/devices]
}

void ordering() {
  // [order]
  auto const order = [](dlbridge::stream_ref consumer, dlbridge::stream_ref producer) {
    dlbridge::order_after(consumer, producer);  // by an event: the host does not wait
  };
  dlbridge::device const gpu(kDLCUDA, 0);
  if (dlbridge::cuda() != nullptr) {
    order(dlbridge::stream_ref::default_of(gpu, dlbridge::default_stream::per_thread),
          dlbridge::stream_ref::default_of(gpu));
  }
  // [/order]
}

void catching() {
  // [error]
  try {
    dlbridge::tensor<float const, columns> const t{dlbridge::build(std::vector<double>(4))};
  } catch (dlbridge::error const& e) {                   // the vector has been freed by now
    assert(e.code() == dlbridge::errc::dtype_mismatch);  // the first reason, in the table's order
    assert(e.why().has(dlbridge::errc::rank_mismatch));  // there may be several
    std::puts(e.what());
  }
  // [/error]
}

}  // namespace

int main() {
  using_structs();
  owning();
  refusing();
  exchanging();
  building();
  building_on();
  building_read_only();
  building_with_a_deleter();
  allocating();
  lending();
  changing_struct_kind();
  viewing();
  typing();
  visiting();
  storing_small_floats();
  broadcasting();
  spanning();
  copying();
  converting();
  copying_in_parts();
  moving();
  ordering();
  catching();
}
