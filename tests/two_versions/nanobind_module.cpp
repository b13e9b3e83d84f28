// SPDX-License-Identifier: BSD-3-Clause
// A nanobind module with default visibility, with one function of each kind that dlbridge binds.
#include <dlbridge/nanobind.hpp>

#include <cstddef>
#include <utility>
#include <vector>

#include <nanobind/stl/vector.h>

namespace nb = nanobind;

struct ramp {
  explicit ramp(dlbridge::tensor<float> const& x) : values(x.count(), 1.0F) {}
  std::vector<float> values;
};

template <>
struct dlbridge::array_traits<ramp> {
  static description describe(ramp& r) noexcept {
    return description::of(r.values.data(), {r.values.size()});
  }
};

using to_read = dlbridge::tensor_span<float const>;

NB_MODULE(nanobind_default, m) {
  dlbridge::init(m);
  nb::class_<ramp> bound(m, "Ramp");
  dlbridge::def(bound, nb::init<dlbridge::tensor<float>>(), nb::arg("x"));
  dlbridge::def_dlpack(bound);
  dlbridge::def_property_readonly(bound, "values", [](ramp& self) {
    return dlbridge::member_view(dlbridge::description::of(self.values.data(), {1}));
  });
  dlbridge::def(bound, "__iter__", [](nb::object self) {
    return dlbridge::make_iterator(
        std::move(self), 1, [](std::size_t) { return dlbridge::build(std::vector<float>(1)); });
  });
  dlbridge::def(
      m, "count", [](to_read x, int n) { return x.count() + n; }, nb::arg("x"), nb::arg("n") = 1);
  dlbridge::def(m, "count", [](std::vector<to_read> const& x, nb::args) { return x.size(); });
  dlbridge::def(m, "cast", [](nb::handle x) { return dlbridge::cast<dlbridge::tensor<float>>(x); });
  dlbridge::def_fast(m, "count_fast", [](to_read x) { return x.count(); }, {"x"});
}
