// The same tree of boxes with dlbridge.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <dlbridge/nanobind.hpp>

#include "../geometry.hpp"

namespace nb = nanobind;
using dlbridge::build;
using dlbridge::dynamic_extent;
using dlbridge::row_major;
using dlbridge::shape;
using dlbridge::tensor;
using geometry::tree;

namespace {

template <class T, class Shape = dlbridge::dynamic_rank>
using points = dlbridge::or_other<dlbridge::convert<T, Shape, row_major>>;
using entities = dlbridge::or_other<
    dlbridge::convert<std::int32_t, shape<dynamic_extent>, row_major, dlbridge::by_value>>;

template <class T>
std::size_t count_of(points<T> const& x, std::string const& name) {
  if (x.rank() == 1 && x.extent(0) == 3) {
    return 1;
  }
  if (x.rank() == 2 && x.extent(1) == 3) {
    return static_cast<std::size_t>(x.extent(0));
  }
  throw std::runtime_error(name + " must have the shape (3,) or (n, 3)");
}

template <class T>
void bind(nb::module_& m, std::string const& suffix) {
  dlbridge::returns constexpr numpy{dlbridge::library::numpy};
  nb::class_<tree<T>> c(m, ("Tree_" + suffix).c_str());
  dlbridge::def(c, nb::new_([](std::size_t count, double padding, std::optional<entities> only) {
                  return tree<T>(only ? static_cast<std::size_t>(only->count()) : count, padding);
                }),
                nb::arg("count"), nb::arg("padding"), nb::arg("entities").none());
  dlbridge::def_property_readonly(
      c, "coordinates",
      [](tree<T>& self) {
        return dlbridge::member_view(
            dlbridge::description::of(self.boxes.data(), {self.boxes.size() / 3, 3}));
      },
      numpy);
  dlbridge::def(
      c, "box",
      [](tree<T> const& self, std::size_t i) { return tensor<T, shape<2, 3>>(build(self.box(i))); },
      nb::arg("i"), numpy);
  dlbridge::def(
      m, "collide",
      [](tree<T> const&, points<T, shape<3>> p) {
        return tensor<std::int32_t, shape<2>>(
            build(std::array<std::int32_t, 2>{static_cast<std::int32_t>(p(0)), 1}));
      },
      nb::arg("tree"), nb::arg("points"), numpy);
  dlbridge::def(
      m, "collide",
      [](tree<T> const&, points<T, shape<dynamic_extent, 3>> p) {
        return tensor<std::int32_t, shape<dynamic_extent>>(
            build(std::vector<std::int32_t>(static_cast<std::size_t>(p.extent(0)))));
      },
      nb::arg("tree"), nb::arg("points"), numpy);
  dlbridge::def(
      m, ("distance_" + suffix).c_str(),
      [](points<T> p, points<T> q) {
        return tensor<T, shape<3>>(build(
            geometry::distance(p.data(), count_of<T>(p, "p"), q.data(), count_of<T>(q, "q"))));
      },
      nb::arg("p"), nb::arg("q"), numpy);
  dlbridge::def(
      m, ("distances_" + suffix).c_str(),
      [](std::vector<points<T>> const& bodies, points<T> q) {
        std::vector<std::array<T, 3>> result;
        for (points<T> const& p : bodies) {
          result.push_back(
              geometry::distance(p.data(), count_of<T>(p, "body"), q.data(), count_of<T>(q, "q")));
        }
        return tensor<T, shape<dynamic_extent, 3>>(build(std::move(result)));
      },
      nb::arg("bodies"), nb::arg("q"), numpy);
}

}  // namespace

NB_MODULE(geometry_after, m) {
  dlbridge::init(m);
  bind<float>(m, "float32");
  bind<double>(m, "float64");
}
