// Every constraint that a tensor parameter may have.
#include <dlbridge/pybind11.hpp>

#include <cstdint>

#include "bindings.hpp"
#include "parts.hpp"

namespace {

using dlbridge::dynamic_extent;
using dlbridge::shape;
using dlbridge::tensor_span;

template <class Parameter>
void add(roads& to, char const* name) {
  to.add(name, [](Parameter x) { return address_of(x); });
}

}  // namespace

void add_constraints(py::module_& m) {
  roads to(m);
  add<tensor_span<std::int64_t const>>(to, "int64");
  add<tensor_span<float const, shape<>>>(to, "rank_0");
  add<tensor_span<float const, shape<dynamic_extent, dynamic_extent>>>(to, "rank_2");
  add<tensor_span<std::uint8_t const, shape<dynamic_extent, dynamic_extent, 3>>>(to, "rgb");
  add<tensor_span<float const, shape<2, 3>>>(to, "fixed");
  add<tensor_span<float>>(to, "writable");
  add<tensor_span<float const, dlbridge::dynamic_rank, dlbridge::row_major>>(to, "row_major");
  add<tensor_span<float const, dlbridge::dynamic_rank, dlbridge::column_major>>(to, "column_major");
  add<tensor_span<float const, dlbridge::dynamic_rank, dlbridge::compact>>(to, "compact");
  add<tensor_span<float const, dlbridge::dynamic_rank, dlbridge::on_cuda>>(to, "on_cuda");
  add<tensor_span<float const, dlbridge::dynamic_rank, dlbridge::anywhere>>(to, "anywhere");
  add<tensor_span<float const, dlbridge::dynamic_rank, dlbridge::aligned<64>>>(to, "aligned_64");
  add<tensor_span<float const, dlbridge::dynamic_rank, dlbridge::aligned<256>>>(to, "aligned_256");
  add<tensor_span<float, shape<dynamic_extent, 3>, dlbridge::row_major, dlbridge::aligned<256>>>(
      to, "all");
}
