// SPDX-License-Identifier: BSD-3-Clause
// The source of two nanobind modules with default visibility, of two versions of the headers, with
// one function of each kind that dlbridge binds.
#include <dlbridge/nanobind.hpp>

#include <cstddef>
#include <cstdint>
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

using to_read = dlbridge::tensor_span<float const, dlbridge::shape<dlbridge::dynamic_extent>>;

float total(to_read x) {
  float sum = 0;
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    sum += x(i);
  }
  return sum;
}
char const* kind(to_read) { return "float"; }

NB_MODULE(MODULE_NAME, m) {
  dlbridge::init(m);
  if (nb::type<ramp>().is_valid()) {  // nanobind has one class of a name in all its modules
    m.attr("Ramp") = nb::type<ramp>();
  } else {
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
  }
  dlbridge::def(m, "total", &total, nb::arg("x"));
  dlbridge::def_fast<&total>(m, "total_fast", {"x"});
  dlbridge::def(m, "kind", &kind, nb::arg("x"));  // one by name, which a linker can merge
  dlbridge::def(m, "kind", [](dlbridge::tensor<double> const&) { return "double"; }, nb::arg("x"));
  dlbridge::def(m, "counted", [] { return dlbridge::build(std::vector<float>{0, 1, 2}); });
  m.attr("minor") = DLBRIDGE_VERSION_MINOR;
  dlbridge::def(
      m, "count", [](to_read x, int n) { return x.count() + n; }, nb::arg("x"), nb::arg("n") = 1);
  dlbridge::def(m, "count", [](std::vector<to_read> const& x, nb::args) { return x.size(); });
  dlbridge::def(m, "cast", [](nb::handle x) { return dlbridge::cast<dlbridge::tensor<float>>(x); });
  dlbridge::def_fast(m, "count_fast", [](to_read x) { return x.count(); }, {"x"});
}
