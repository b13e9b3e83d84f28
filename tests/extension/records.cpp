// SPDX-License-Identifier: BSD-3-Clause
// A vector of structs, whose fields are strided tensors in both directions.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "registration.hpp"

namespace {

// [struct]
struct particle {
  double x, y;
  float mass;
  std::int32_t id;
};

// One field of all structs, on their memory. The tensor shares the vector.
template <class T, class Struct>
dlbridge::managed_tensor field_of(std::shared_ptr<std::vector<Struct>> all, T Struct::* field) {
  static_assert(sizeof(Struct) % sizeof(T) == 0, "a stride counts elements of the field");
  T* const first = all->empty() ? nullptr : &(all->front().*field);
  auto const memory = dlbridge::description::of(first, {all->size()}, {sizeof(Struct) / sizeof(T)});
  return dlbridge::build_on(std::move(all), memory);
}
// [/struct]

// [export]
std::map<std::string, dlbridge::managed_tensor> fields(std::int32_t count) {
  auto const all = std::make_shared<std::vector<particle>>();
  for (std::int32_t i = 0; i < count; ++i) {
    all->push_back({1.0 * i, 0.5 * i, 1.0F, i});
  }
  std::map<std::string, dlbridge::managed_tensor> result;
  result.emplace("x", field_of(all, &particle::x));
  result.emplace("y", field_of(all, &particle::y));
  result.emplace("mass", field_of(all, &particle::mass));
  result.emplace("id", field_of(all, &particle::id));
  return result;
}
// [/export]

// [import]
using each = dlbridge::shape<dlbridge::named<'n'>>;  // of one length

// Moves the particles: their fields are written where they are.
void advance(dlbridge::tensor_span<double, each> x, dlbridge::tensor_span<double, each> y,
             dlbridge::tensor_span<float const, each> mass, double by) {
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    x[i] += by / static_cast<double>(mass[i]);
    y[i] += by / static_cast<double>(mass[i]);
  }
}
// [/import]

}  // namespace

void add_records(py::module_& scope) {
  py::module_ m = scope.def_submodule("records");
  // [bound]
  dlbridge::def(m, "fields", fields, py::arg("count"), dlbridge::returns{dlbridge::library::numpy});
  dlbridge::def(m, "advance", advance, py::arg("x"), py::arg("y"), py::arg("mass"), py::arg("by"));
  // [/bound]
}
