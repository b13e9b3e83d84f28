// SPDX-License-Identifier: BSD-3-Clause
// The functions and the classes of test_ndarray_ext that return tensors: see nanobind_suite.cpp.
#include <dlbridge/nanobind.hpp>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <dlbridge/bridges/std.hpp>
#include <dlbridge/types/small_floats.hpp>

#include "nanobind_suite.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using dlbridge::any_argument;
using dlbridge::description;
using dlbridge::dims;
using dlbridge::library;
using dlbridge::managed_tensor;
using dlbridge::member_view;
using dlbridge::returns;

returns const as_numpy{library::numpy};
int destroyed = 0;

// Eight numbers, whose destruction the tests count.
template <class T>
struct counted {
  T values[8] = {T(1), T(2), T(3), T(4), T(5), T(6), T(7), T(8)};
  counted() = default;
  counted(counted const&) = delete;
  counted& operator=(counted const&) = delete;
  ~counted() { ++destroyed; }
};
template <class T, class Element = T>
managed_tensor make(dims const& extents = {2, 4}, dims const& strides = {}) {
  auto owner = std::make_shared<counted<T>>();
  Element* const first = owner->values;
  auto const memory = description::of(first, extents, strides);
  return dlbridge::build_on(std::move(owner), memory);
}

template <class T>
managed_tensor lend(T const* values, dims const& extents, dims const& strides = {}) {
  return dlbridge::build_on(dlbridge::no_owner(), description::of(values, extents, strides));
}
managed_tensor lend_rows() { return lend(constants, {2, 4}); }
managed_tensor lend_columns() { return lend(constants, {2, 4}, {1, 2}); }
template <class T>
managed_tensor copy(T const* values, dims const& extents, dims const& strides = {},
                    dlbridge::layout order = dlbridge::layout::row_major) {
  managed_tensor const lent = lend(values, extents, strides);
  return dlbridge::copy_of(lent.view(), order);
}
managed_tensor lend_metal() {
  description memory = description::of(constants, {2, 4});
  memory.device = dlbridge::device(kDLMetal, 0);
  memory.flags = 0;
  return dlbridge::build_on(dlbridge::no_owner(), memory);
}

// A memoryview of a Tensor, in place of the framework nb::memview.
nb::object view_memory(managed_tensor m) {
  nb::object const own = nb::steal(dlbridge::python::give_own(std::move(m)).release());
  PyObject* const view = own ? PyMemoryView_FromObject(own.ptr()) : nullptr;
  if (view == nullptr) {
    nb::raise_python_error();
  }
  return nb::steal(view);
}

any_argument copy(any_argument const& x) {
  any_argument result = x.empty_like();
  dlbridge::copy(x.view(), result.view());
  return result;
}

// The same object if its elements are compact, otherwise a compact copy of the same library.
nb::object make_compact(nb::object x) {
  auto const tensor = dlbridge::cast<any_argument>(x);
  return tensor.view().is_row_major() ? x : nb::cast(copy(tensor));
}

void add_numpy(nb::module_& m) {
  dlbridge::def(m, "ret_numpy", [] { return make<float>(); }, as_numpy);
  dlbridge::def(m, "ret_numpy_half", [] { return make<dlbridge::float16>(); }, as_numpy);
  dlbridge::def(m, "ret_array_scalar", [] { return make<float>(dims()); }, as_numpy);
  dlbridge::def(m, "ret_numpy_const", [] { return copy(constants, {2, 4}); }, as_numpy);
  dlbridge::def(m, "ret_numpy_const_ref", &lend_rows, as_numpy);
  dlbridge::def(m, "ret_numpy_const_ref_f", &lend_columns, as_numpy);
  dlbridge::def(m, "ret_infer_c", &lend_rows, as_numpy);
  dlbridge::def(m, "ret_infer_f", &lend_columns, as_numpy);
  dlbridge::def(
      m, "ret_ndarray_empty", [] { return dlbridge::build(std::vector<float>()); }, as_numpy);
  for (char const* name : {"ret_from_stack_1", "ret_from_stack_2"}) {
    dlbridge::def(
        m, name,
        [] {
          float const values[] = {1, 2, 3};
          return copy(values, {3});
        },
        as_numpy);
  }
  dlbridge::def(
      m, "cast",
      [](bool is_float) {
        static int const integer = 1;
        return is_float ? lend(constants, dims()) : lend(&integer, dims());
      },
      as_numpy);
}

}  // namespace

void add_results(nb::module_& m) {
  add_numpy(m);
  m.def("destruct_count", [] { return destroyed; });
  m.def("return_no_framework", [] {
    return nb::steal(dlbridge::python::wrap_capsule(dlbridge::to_legacy(make<float>())).release());
  });
  dlbridge::def(m, "ret_pytorch", [] { return make<float>(); }, returns{library::torch});
  dlbridge::def(m, "ret_mlx", [] { return make<float>(); }, returns{library::mlx});
  dlbridge::def(m, "ret_array_api", [] { return make<double>(); });
  dlbridge::def(m, "ret_array_api_metal", &lend_metal);
  m.def("ret_memview", [] { return view_memory(make<double>()); });
  m.def("ret_memview_ro", [] { return view_memory(make<float, float const>()); });
  m.def("ret_memview_f", [] { return view_memory(make<float>({2, 4}, {1, 2})); });

  m.def("passthrough_copy", [](any_argument const& x) { return copy(x); });
  m.def("make_contig", &make_compact);
  m.def("test_implicit_conversion", &make_compact);
}

namespace {

// Ten numbers in the object.
struct numbers {
  float values[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  numbers() = default;
  numbers(numbers const&) = delete;
  numbers& operator=(numbers const&) = delete;
  ~numbers() { ++destroyed; }

  member_view view() { return member_view(description::of(values, {10})); }
  managed_tensor copied() const { return copy(values, {10}); }
};

struct matrix {
  float values[4][4] = {};
  member_view view() { return member_view(description::of(values[0], {4, 4}, {1, 4})); }
  managed_tensor copied() const {
    return copy(values[0], {4, 4}, {1, 4}, dlbridge::layout::column_major);
  }
};

// An object that keeps the tensor of its argument.
class wrapper {
 public:
  explicit wrapper(dlbridge::tensor<float> x) : value_(std::move(x).release()) {}
  managed_tensor value() const {
    return dlbridge::build_on(dlbridge::shared_tensor(value_),
                              dlbridge::describe_view(value_.get().view()));
  }

 private:
  dlbridge::shared_tensor value_;
};

struct my_array {
  std::vector<double> values = {0, 1, 2, 3, 4};
  void mutate() {
    for (double& each : values) {
      each += 0.5;
    }
  }
};

}  // namespace

template <>
struct dlbridge::array_traits<my_array> {
  static description describe(my_array& a) noexcept {
    return description::of(a.values.data(), {a.values.size()});
  }
};

void add_classes(nb::module_& m) {
  nb::class_<numbers> cls(m, "Cls");
  cls.def(nb::init<>());
  dlbridge::def(cls, "f1", &numbers::copied, as_numpy);
  for (char const* name : {"f2", "f1_ri", "f2_ri"}) {
    dlbridge::def(cls, name, &numbers::view, as_numpy);
  }
  dlbridge::def(cls, "f3_ri", [](numbers& self, nb::handle) { return self.view(); }, as_numpy);

  nb::class_<matrix> matrix4f(m, "Matrix4f");
  matrix4f.def(nb::init<>());
  dlbridge::def(matrix4f, "data", &matrix::view, as_numpy);
  dlbridge::def(matrix4f, "data_ref", &matrix::view, as_numpy);
  dlbridge::def(matrix4f, "data_copy", &matrix::copied, as_numpy);

  nb::class_<wrapper> wrapped(m, "Wrapper");
  dlbridge::def(wrapped, nb::init<dlbridge::tensor<float>>());
  dlbridge::def_property_readonly(wrapped, "value", &wrapper::value, as_numpy);

  nb::class_<my_array> array(m, "MyArray");
  array.def(nb::init<>()).def("mutate", &my_array::mutate);
  dlbridge::def_dlpack(array);
  dlbridge::def(array, "array_api",
                [](my_array& self) { return member_view(dlbridge::describe(self)); });
}
