// SPDX-License-Identifier: BSD-3-Clause
// Every constraint of a tensor parameter.
#include <cstdint>

#include "bindings.hpp"
#include "registration.hpp"

namespace {

using dlbridge::dynamic_extent;
using dlbridge::shape;
using dlbridge::tensor_span;

template <class Parameter>
void add(binder& functions, char const* name) {
  functions.add(name, [](Parameter x) { return address_of(x); });
}

template <class T>
void add_sum(binder& functions, char const* name) {
  functions.add(name, [](dlbridge::convert<T, shape<dynamic_extent>> const& x) {
    double total = 0;
    for (std::int64_t i = 0; i < x.extent(0); ++i) {
      total += static_cast<double>(x(i));
    }
    return total;
  });
}

}  // namespace

void add_constraints(py::module_& m) {
  binder functions(m);
  add<tensor_span<std::int64_t const>>(functions, "int64");
  add<dlbridge::any_of<dlbridge::types<float const, double const>>>(functions, "float_or_double");
  add<tensor_span<float const, shape<>>>(functions, "rank_0");
  add<tensor_span<float const, shape<dynamic_extent, dynamic_extent>>>(functions, "rank_2");
  add<tensor_span<std::uint8_t const, shape<dynamic_extent, dynamic_extent, 3>>>(functions, "rgb");
  add<tensor_span<float const, shape<2, 3>>>(functions, "fixed");
  add<tensor_span<float>>(functions, "writable");
  add<tensor_span<float const, dlbridge::dynamic_rank, dlbridge::row_major>>(functions,
                                                                             "row_major");
  add<tensor_span<float const, dlbridge::dynamic_rank, dlbridge::column_major>>(functions,
                                                                                "column_major");
  add<tensor_span<float const, dlbridge::dynamic_rank, dlbridge::compact>>(functions, "compact");
  add<tensor_span<float const, dlbridge::dynamic_rank, dlbridge::on_cuda>>(functions, "on_cuda");
  add<tensor_span<float const, dlbridge::dynamic_rank, dlbridge::anywhere>>(functions, "anywhere");
  add<tensor_span<float const, dlbridge::dynamic_rank, dlbridge::aligned<64>>>(functions,
                                                                               "aligned_64");
  add<tensor_span<float const, dlbridge::dynamic_rank, dlbridge::aligned<256>>>(functions,
                                                                                "aligned_256");
  add<tensor_span<float, shape<dynamic_extent, 3>, dlbridge::row_major, dlbridge::aligned<256>>>(
      functions, "all");
  add<dlbridge::argument<float const, dlbridge::dynamic_rank, dlbridge::converted,
                         dlbridge::anywhere>>(functions, "converted_anywhere");
  add_sum<float>(functions, "sum_as_float32");
  add_sum<std::int32_t>(functions, "sum_as_int32");
}
