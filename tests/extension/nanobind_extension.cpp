// SPDX-License-Identifier: BSD-3-Clause
// What the module `nanobind_extension` has beyond the functions of `extension`: what nanobind alone
// has or refuses.
#include "registration.hpp"

#include <cstdint>
#include <new>
#include <utility>
#include <vector>

using namespace nb::literals;

void add_more_of_nanobind(nb::module_& m);

namespace {

using vector_shape = dlbridge::shape<dlbridge::dynamic_extent>;
using owned = dlbridge::tensor<float const, vector_shape>;

// An array that code of Python may resize.
struct buffer {
  std::vector<float> values{};
};

}  // namespace

template <>
struct dlbridge::array_traits<buffer> {
  static description describe(buffer& x) noexcept {
    return description::of(x.values.data(), {x.values.size()});
  }
};

void add_more_of_nanobind(nb::module_& m) {
  m.def("cast_owning", [](nb::object const& x) { return nb::cast<owned>(x).extent(0); });
  m.attr("taken_name") = 3;
  m.def("bind_taken_name", [](nb::module_ self) { dlbridge::def(self, "taken_name", [] {}); });
  m.def("bind_none", [](nb::module_ scope) {
    dlbridge::def(scope, "needs_x", [](owned const& x) { return x.extent(0); }, "x"_a.none());
  });

  nb::class_<buffer> produced(m, "Buffer");
  produced.def("__init__", [](buffer* self, int n) {
    new (self) buffer{std::vector<float>(static_cast<std::size_t>(n), 1.0F)};
  });
  produced.def("resize", [](buffer& self, std::size_t n) { self.values.resize(n); }, "n"_a);
  dlbridge::def_dlpack(produced);
}
