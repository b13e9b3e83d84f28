// Every constraint that a tensor parameter may have.
#include <dlbridge/pybind11.hpp>

#include <cstdint>

#include "parts.hpp"
#include "roads.hpp"

namespace {

using dlbridge::any;
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
  add<tensor_span<float const, shape<any, any>>>(to, "rank_2");
  add<tensor_span<std::uint8_t const, shape<any, any, 3>>>(to, "rgb");
  add<tensor_span<float const, shape<2, 3>>>(to, "fixed");
  add<tensor_span<float>>(to, "writable");
  add<tensor_span<float const, dlbridge::any_rank, dlbridge::row_major>>(to, "row_major");
  add<tensor_span<float const, dlbridge::any_rank, dlbridge::column_major>>(to, "column_major");
  add<tensor_span<float const, dlbridge::any_rank, dlbridge::compact>>(to, "compact");
  add<tensor_span<float const, dlbridge::any_rank, dlbridge::on_cuda>>(to, "on_cuda");
  add<tensor_span<float const, dlbridge::any_rank, dlbridge::anywhere>>(to, "anywhere");
  add<tensor_span<float const, dlbridge::any_rank, dlbridge::aligned<64>>>(to, "aligned_64");
  add<tensor_span<float const, dlbridge::any_rank, dlbridge::aligned<256>>>(to, "aligned_256");
  add<tensor_span<float, shape<any, 3>, dlbridge::row_major, dlbridge::aligned<256>>>(to, "all");
}
