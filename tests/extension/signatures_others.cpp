// SPDX-License-Identifier: BSD-3-Clause
// The functions of signatures_arrays.hpp, signatures_buffers.hpp and signatures_numbers.hpp, and
// more of them.
#include <cstdint>
#include <optional>

#include "signatures_arrays.hpp"
#include "signatures_buffers.hpp"
#include "signatures_numbers.hpp"
#include "signatures_parts.hpp"

namespace {
// Parameters that accept buffers, by the binding library and in overloads.
void add_more_buffers(py::module_& m) {
  using namespace signatures;
  using doubles = or_other<tensor_span<double const>, dlbridge::buffers>;
  m.def("plain_sum_bytes", [](bytes x) { return total(x); }, py::arg("x"));
  m.def(
      "plain_sum_bytes_or_zero", [](std::optional<bytes> const& x) { return x ? total(*x) : 0; },
      py::arg("x").none());
  dlbridge::def(m, "kind_of", [](bytes const&) { return "bytes"; }, py::arg("x"));
  dlbridge::def(m, "kind_of", [](doubles const&) { return "doubles"; }, py::arg("x"));
}
// Parameters that accept numbers, by the binding library and in overloads.
void add_more_numbers(py::module_& m) {
  using namespace signatures;
  using integers = or_other<tensor_span<std::int64_t const, vector>, dlbridge::numbers>;
  m.def("plain_sum_numbers", [](numbers const& x) { return total(x); }, py::arg("x"));
  dlbridge::def(m, "kind_of_list", [](integers const&) { return "integers"; }, py::arg("x"));
  dlbridge::def(m, "kind_of_list", [](numbers const&) { return "numbers"; }, py::arg("x"));
  dlbridge::def(
      m, "called_with",
      [](or_other<dlbridge::convert<double>> const& x, py::object const& f) {
        return f(dlbridge::to_python(dlbridge::managed_tensor(copy_of(x.view()))));
      },
      py::arg("x"), py::arg("f"));
  dlbridge::def(
      m, "add_to_rows",
      [](argument<float const, matrix> x,
         or_other<dlbridge::convert<float>, dlbridge::numbers> const& y) {
        auto out = x.empty_like();
        auto const other = dlbridge::broadcast_to<float, matrix>(y, x);
        for (std::int64_t i = 0; i < x.extent(0); ++i) {
          for (std::int64_t j = 0; j < x.extent(1); ++j) {
            out(i, j) = x(i, j) + other(i, j);
          }
        }
        return out;
      },
      py::arg("x"), py::arg("y"));
}
}  // namespace

void add_others(py::module_& m) {
  signatures::add_arrays(signatures::binder{m});
  signatures::add_buffers(signatures::binder{m});
  signatures::add_numbers(signatures::binder{m});
  add_more_buffers(m);
  add_more_numbers(m);
}
