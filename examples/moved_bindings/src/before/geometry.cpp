// A tree of boxes and distances of bodies with nb::ndarray: views of members, lists of arrays.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "../geometry.hpp"

namespace nb = nanobind;
using geometry::tree;

namespace {

template <class T>
using points = nb::ndarray<T const, nb::c_contig>;
using entities = nb::ndarray<std::int32_t const, nb::ndim<1>, nb::c_contig>;

template <class T>
std::size_t count_of(points<T> const& x, std::string const& name) {
  if (x.ndim() == 1 && x.shape(0) == 3) {
    return 1;
  }
  if (x.ndim() == 2 && x.shape(1) == 3) {
    return x.shape(0);
  }
  throw std::runtime_error(name + " must have the shape (3,) or (n, 3)");
}

template <class T>
nb::ndarray<T, nb::numpy> owned(std::vector<T> values, std::initializer_list<std::size_t> shape) {
  auto* const kept = new std::vector<T>(std::move(values));
  nb::capsule const owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<T, nb::numpy>(kept->data(), shape, owner);
}

template <class T>
void bind(nb::module_& m, std::string const& suffix) {
  using vector = nb::ndarray<T const, nb::shape<3>, nb::c_contig>;
  using vectors = nb::ndarray<T const, nb::shape<-1, 3>, nb::c_contig>;
  nb::class_<tree<T>>(m, ("Tree_" + suffix).c_str())
      .def(
          "__init__",
          [](tree<T>* self, std::size_t count, double padding, std::optional<entities> only) {
            new (self) tree<T>(only ? only->size() : count, padding);
          },
          nb::arg("count"), nb::arg("padding"), nb::arg("entities").none())
      .def_prop_ro(
          "coordinates",
          [](tree<T>& self) {
            return nb::ndarray<T, nb::shape<-1, 3>, nb::numpy>(self.boxes.data(),
                                                               {self.boxes.size() / 3, 3});
          },
          nb::rv_policy::reference_internal)
      .def(
          "box",
          [](tree<T> const& self, std::size_t i) {
            auto const b = self.box(i);
            return owned<T>({b[0][0], b[0][1], b[0][2], b[1][0], b[1][1], b[1][2]}, {2, 3});
          },
          nb::arg("i"));
  m.def(
      "collide",
      [](tree<T> const&, vector p) {
        return owned<std::int32_t>({static_cast<std::int32_t>(p.data()[0]), 1}, {2});
      },
      nb::arg("tree"), nb::arg("points"));
  m.def(
      "collide",
      [](tree<T> const&, vectors p) {
        return owned<std::int32_t>(std::vector<std::int32_t>(p.shape(0)), {p.shape(0)});
      },
      nb::arg("tree"), nb::arg("points"));
  m.def(("distance_" + suffix).c_str(),
        [](points<T> p, points<T> q) {
          auto const d =
              geometry::distance(p.data(), count_of<T>(p, "p"), q.data(), count_of<T>(q, "q"));
          return owned<T>({d[0], d[1], d[2]}, {3});
        },
        nb::arg("p"), nb::arg("q"));
  m.def(("distances_" + suffix).c_str(),
        [](std::vector<points<T>> const& bodies, points<T> q) {
          std::vector<T> result;
          for (points<T> const& p : bodies) {
            auto const d =
                geometry::distance(p.data(), count_of<T>(p, "body"), q.data(), count_of<T>(q, "q"));
            result.insert(result.end(), d.begin(), d.end());
          }
          return owned<T>(std::move(result), {bodies.size(), 3});
        },
        nb::arg("bodies"), nb::arg("q"));
}

}  // namespace

NB_MODULE(geometry_before, m) {
  bind<float>(m, "float32");
  bind<double>(m, "float64");
}
