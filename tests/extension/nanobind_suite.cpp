// SPDX-License-Identifier: BSD-3-Clause
// The module test_ndarray_ext: functions with the names and the results of those that nanobind's
// own test_ndarray.py calls, with dlbridge's parameters in place of nb::ndarray. Those that
// nanobind binds keep its messages, which the tests compare. Functions that no counterpart can
// have are missing; tests/python/peers/foreign_suites/nanobind_suite.py names the tests that need
// them. This file has the functions that take tensors.
#include "nanobind_suite.hpp"

#include <dlbridge/nanobind.hpp>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <optional>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using dlbridge::buffers;
using dlbridge::column_major;
using dlbridge::compact;
using dlbridge::convert;
using dlbridge::dynamic_extent;
using dlbridge::or_other;
using dlbridge::row_major;
using dlbridge::shape;
using dlbridge::tensor_span;
using vector = shape<dynamic_extent>;
using matrix = shape<dynamic_extent, dynamic_extent>;
using complex = std::complex<float>;

using any = or_other<dlbridge::any_tensor, buffers>;  // any tensor, or any buffer of Python
using optional = std::optional<any>;

std::int64_t item_bytes(any const& x) { return x.dtype().bits / 8; }

void add_metadata(nb::module_& m) {
  auto const is_valid = [](optional const& x) { return x.has_value(); };
  m.def("get_is_valid", is_valid, "x"_a);
  m.def("get_is_valid_default", is_valid, "x"_a = nb::none());
  m.def("get_size", [](optional const& x) { return x ? x->view().count() : 0; }, "x"_a);
  m.def("get_itemsize", [](optional const& x) { return x ? item_bytes(*x) : 0; }, "x"_a);
  m.def(
      "get_nbytes", [](optional const& x) { return x ? x->view().count() * item_bytes(*x) : 0; },
      "x"_a);
  m.def("get_shape", [](any const& x) {
    nb::list extents;
    for (int i = 0; i < x.view().rank(); ++i) {
      extents.append(x.view().extent(i));
    }
    return extents;
  });
  m.def("get_stride", [](any const& x, int i) { return x.view().stride(i); });
  m.def("check_shape_ptr", [](any const& x) {
    std::int64_t count = 1;
    for (int i = 0; i < x.view().rank(); ++i) {
      count *= x.view().shape()[i];
    }
    return count == x.view().count();
  });
  m.def("check_stride_ptr", [](any const& x) {
    std::int64_t strides[dlbridge::max_rank];
    x.view().copy_strides(strides);
    bool are_equal = true;
    for (int i = 0; i < x.view().rank(); ++i) {
      are_equal = are_equal && strides[i] == x.view().stride(i);
    }
    return are_equal;
  });
  m.def("check_float", [](any const& x) { return x.dtype() == dlbridge::dtype_of<float>(); });
  m.def("check_bool", [](any const& x) { return x.dtype() == dlbridge::dtype_of<bool>(); });
}

void add_constraints(nb::module_& m) {
  m.def("check_order", [](any const& x) {
    return x.view().is_row_major() ? 'C' : x.view().is_column_major() ? 'F' : '?';
  });
  m.def("check_device", [](dlbridge::any_tensor const& x) {
    return dlbridge::is_host_accessible(x.view().device()) ? "cpu" : "cuda";
  });
  m.def("check_metal_contig",
        [](tensor_span<float const, matrix, row_major, dlbridge::on<kDLMetal>> x) {
          auto const where = x.device();
          return nb::make_tuple(static_cast<int>(where.type), where.id, x.rank(), x.extent(0),
                                x.extent(1), x.data() == constants, x.view().byte_offset());
        });
  m.def(
      "noop_3d_c_contig",
      [](tensor_span<float, shape<dynamic_extent, dynamic_extent, dynamic_extent>, row_major>) {});
  m.def("noop_2d_f_contig", [](tensor_span<float, matrix, column_major>) {});
  m.def("pass_float32", [](tensor_span<float>) {}, "array"_a);
  m.def("pass_float32_const", [](tensor_span<float const>) {}, "array"_a);
  m.def("pass_complex64", [](or_other<tensor_span<complex>, buffers>) {}, "array"_a);
  m.def("pass_complex64_const", [](tensor_span<complex const>) {}, "array"_a);
  m.def("pass_uint32", [](tensor_span<std::uint32_t>) {}, "array"_a);
  m.def("pass_bool", [](tensor_span<bool>) {}, "array"_a);
  m.def("pass_float32_shaped", [](tensor_span<float, shape<3, dynamic_extent, 4>>) {}, "array"_a);
  m.def(
      "pass_float32_shaped_ordered",
      [](tensor_span<float, shape<dynamic_extent, dynamic_extent, 4>, row_major>) {}, "array"_a);
  m.def("implicit", [](convert<float, shape<2, 2>, row_major> const&) { return 0; }, "array"_a);
  m.def("noimplicit", [](tensor_span<float, shape<2, 2>, row_major>) { return 0; }, "array"_a);
  m.def("accept_rw", [](tensor_span<float, shape<2>> x) { return x(0); });
  m.def("accept_ro", [](tensor_span<float const, shape<2>> x) { return x(0); });
  using one_column = shape<2, 1>;
  m.def("accept_np_both_true_contig_a",
        [](tensor_span<float, one_column, compact> x) { return x(0, 0); });
  m.def("accept_np_both_true_contig_c",
        [](tensor_span<float, one_column, row_major> x) { return x(0, 0); });
  m.def("accept_np_both_true_contig_f",
        [](tensor_span<float, one_column, column_major> x) { return x(0, 0); });
  m.def("set_item", [](tensor_span<double, vector, row_major> x, std::uint32_t) { x(0) = 123; });
  m.def("set_item",
        [](tensor_span<std::complex<double>, vector, row_major> x, std::uint32_t) { x(0) = 123; });
}

// Reads and writes the five numbers of the tests, through other types of views.
bool check_to_read(dlbridge::tensor_view const& x) {
  tensor_span<double const, vector> const values(x);
  return values.data() == x.data() && values(3) == 3.14159;
}
bool check_to_write(dlbridge::tensor_view const& x) {
  tensor_span<double, vector> const values(x);
  values(1) = 1.414214;
  tensor_span<double const, vector> const same(x);
  return check_to_read(x) && same(1) == 1.414214;
}
using to_read = or_other<tensor_span<double const, vector>, buffers>;
using to_write = or_other<tensor_span<double, vector>, buffers>;
bool check_elements(to_write const& x) {
  tensor_span<double, vector> const view(x);
  x(2) = 2.718282;
  view(4) = 16.0;
  return view.data() == x.data() && check_to_write(x.view());
}

void add_qualifiers(nb::module_& m) {
  m.def("check_rw_by_value", [](any x) { return check_to_write(x.view()); });
  m.def("check_ro_by_value_ro", [](any x) { return check_to_read(x.view()); });
  m.def("check_rw_by_value_float64", [](to_write x) { return check_elements(x); });
  m.def("check_ro_by_value_const_float64", [](to_read x) { return check_to_read(x.view()); });
  m.def("check_rw_by_const_ref", [](any const& x) { return check_to_write(x.view()); });
  m.def("check_ro_by_const_ref_ro", [](any const& x) { return check_to_read(x.view()); });
  m.def("check_rw_by_const_ref_float64", [](to_write const& x) { return check_elements(x); });
  m.def("check_ro_by_const_ref_const_float64",
        [](to_read const& x) { return check_to_read(x.view()); });
  m.def("check_rw_by_rvalue_ref", [](any&& x) { return check_to_write(x.view()); });
  m.def("check_ro_by_rvalue_ref_ro", [](any&& x) { return check_to_read(x.view()); });
  m.def("check_rw_by_rvalue_ref_float64", [](to_write&& x) { return check_elements(x); });
  m.def("check_ro_by_rvalue_ref_const_float64",
        [](to_read&& x) { return check_to_read(x.view()); });
}

// Calls f(i, j) for each element of a matrix.
template <class Matrix, class F>
void for_each_index(Matrix const& x, F f) {
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    for (std::int64_t j = 0; j < x.extent(1); ++j) {
      f(i, j);
    }
  }
}
template <class Span>
void fill(Span const& x) {
  for_each_index(x, [&](auto i, auto j) { x(i, j) = static_cast<float>(i * 10 + j); });
}
template <class T>
void count_up(or_other<tensor_span<T, shape<10>>, buffers> const& x) {
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    x(i) = static_cast<T>(i);
  }
}

void add_writers(nb::module_& m) {
  m.def("initialize", &count_up<unsigned char>);
  m.def("initialize", &count_up<float>);
  m.def("initialize", [](tensor_span<float, shape<10, dynamic_extent>> x) {
    float next = 0;
    for_each_index(x, [&](auto i, auto j) { x(i, j) = next++; });
  });
  m.def("process",
        [](tensor_span<std::uint8_t, shape<dynamic_extent, dynamic_extent, 3>, row_major> x) {
          std::transform(x.data(), x.data() + x.count(), x.data(), [](std::uint8_t each) {
            return static_cast<std::uint8_t>(std::min(255, each * 2));
          });
        });
  m.def("fill_view_1", [](dlbridge::any_tensor const& x) {
    if (x.dtype() == dlbridge::dtype_of<float>() && x.view().rank() == 2) {
      auto const values = x.as<float, matrix>();
      for_each_index(values, [&](auto i, auto j) { values(i, j) *= 2; });
    }
  });
  m.def("fill_view_2", [](tensor_span<float, matrix> x) { fill(x); });
  m.def("fill_view_3", [](tensor_span<float, shape<3, 4>, row_major> x) { fill(x); });
  m.def("fill_view_4", [](tensor_span<float, shape<3, 4>, column_major> x) { fill(x); });
  m.def("fill_view_5", [](tensor_span<complex, shape<2, 2>, row_major> x) {
    for_each_index(x, [&](auto i, auto j) { x(i, j) *= complex(-1.0F, 2.0F); });
  });
  m.def("fill_view_6", [](tensor_span<complex, shape<2, 2>, row_major> x) {
    std::transform(x.data(), x.data() + 4, x.data(), [](complex each) { return -each; });
  });
}

// Whether an object is a tensor or a buffer, in place of nb::ndarray_check.
bool is_tensor(nb::handle object) {
  dlbridge::python::tensor_argument<any> imported;
  return imported.load(object.ptr()) != dlbridge::python::load_result::refused;
}

}  // namespace

void add_arguments(nb::module_& m) {
  add_metadata(m);
  add_constraints(m);
  add_qualifiers(m);
  add_writers(m);
  m.def("check", &is_tensor);
  m.def("passthrough_arg_none", [](nb::object x) { return x; }, nb::arg().none());
  m.def("passthrough", [](nb::object x) {
    if (!is_tensor(x)) {
      throw nb::next_overload();
    }
    return x;
  });
}

NB_MODULE(test_ndarray_ext, m) {
  dlbridge::init(m);
  add_arguments(m);
  add_results(m);
  add_classes(m);
}
