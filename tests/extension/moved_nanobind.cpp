// SPDX-License-Identifier: BSD-3-Clause
// The module `moved_nanobind`: the same functions with nb::ndarray and with dlbridge, as
// docs/howto/from_nb_ndarray.md shows them. tests/python/test_moved_extensions.py compares them.
#include <dlbridge/nanobind.hpp>

#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

namespace before {
// [ndarray]
using points = nb::ndarray<float const, nb::shape<-1, 3>, nb::device::cpu, nb::c_contig>;

nb::ndarray<nb::numpy, float, nb::shape<-1, 3>> doubled(points x) {
  auto values = std::make_unique<float[]>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    values[i] = 2 * x.data()[i];
  }
  nb::capsule const owner(values.get(), [](void* p) noexcept { delete[] static_cast<float*>(p); });
  return {values.release(), {x.shape(0), 3}, owner};
}
// [/ndarray]

void shift(nb::ndarray<float, nb::shape<-1, 3>, nb::device::cpu> x, float by) {
  auto v = x.view();
  for (std::size_t i = 0; i < v.shape(0); ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      v(i, k) += by;
    }
  }
}

using weights = nb::ndarray<nb::ro, float, nb::ndim<1>>;
double weight(points x, std::optional<weights> w) {
  double sum = 0;
  for (std::size_t i = 0; i < x.shape(0); ++i) {
    sum += w ? static_cast<double>((*w)(i)) : 1;
  }
  return sum;
}

struct cloud {
  explicit cloud(points x) : values(x.data(), x.data() + x.size()) {}
  std::vector<float> values;
};
}  // namespace before

namespace after {
// [argument]
using rows_of_3 = dlbridge::shape<dlbridge::dynamic_extent, 3>;
using points = dlbridge::argument<float const, rows_of_3, dlbridge::row_major>;

auto doubled(points x) {
  auto out = x.empty_like();  // of the caller's library, which owns the memory
  for (std::int64_t i = 0; i < x.count(); ++i) {
    out.data()[i] = 2 * x.data()[i];
  }
  return out;
}
// [/argument]

// [others]
void shift(dlbridge::tensor_span<float, rows_of_3> x, float by) {
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    for (std::int64_t k = 0; k < 3; ++k) {
      x(i, k) += by;
    }
  }
}

using weights = dlbridge::tensor_span<float const, dlbridge::shape<dlbridge::dynamic_extent>>;
double weight(points x, std::optional<weights> w) {
  double sum = 0;
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    sum += w ? static_cast<double>((*w)(i)) : 1;
  }
  return sum;
}

// [/others]

// [member]
struct cloud {
  explicit cloud(points const& x) : values(x.data(), x.data() + x.count()) {}
  dlbridge::member_view view() {
    return dlbridge::member_view(dlbridge::description::of(values.data(), {values.size() / 3, 3}));
  }
  std::vector<float> values;
};
// [/member]

void add_functions(nb::module_& m) {
  // [bound]
  dlbridge::def(m, "doubled", doubled, "x"_a);
  dlbridge::def(m, "shift", shift, "x"_a, "by"_a);
  dlbridge::def(m, "weight", weight, "x"_a, "w"_a = nb::none());
  nb::class_<cloud> cloud_class(m, "Cloud");
  dlbridge::def(cloud_class, nb::init<points>(), "x"_a);
  dlbridge::def_property_readonly(cloud_class, "points", &cloud::view,
                                  dlbridge::returns{dlbridge::library::numpy});
  // [/bound]
}
}  // namespace after

}  // namespace

NB_MODULE(moved_nanobind, m) {
  dlbridge::init(m);
  nb::module_ old = m.def_submodule("before");
  old.def("doubled", &before::doubled, "x"_a);
  old.def("shift", &before::shift, "x"_a, "by"_a);
  old.def("weight", &before::weight, "x"_a, "w"_a.none() = nb::none());
  nb::class_<before::cloud>(old, "Cloud")
      .def(nb::init<before::points>(), "x"_a)
      .def_prop_ro(
          "points",
          [](before::cloud& self) {
            return nb::ndarray<nb::numpy, float, nb::shape<-1, 3>>(self.values.data(),
                                                                   {self.values.size() / 3, 3});
          },
          nb::rv_policy::reference_internal);
  nb::module_ moved = m.def_submodule("after");
  after::add_functions(moved);
}
