// SPDX-License-Identifier: BSD-3-Clause
// The same functions with nanobind's ndarray of any shape, read-only. It checks the device and the
// dtype, but not the version and the extents, and passes no stream.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
using any_floats = nb::ndarray<float const, nb::device::cpu>;

// Memory that C++ allocates, and that the result owns.
template <class... Framework>
static nb::ndarray<float, Framework...> make() {
  auto* const values = new float[6]();
  nb::capsule const owner(values, [](void* p) noexcept { delete[] static_cast<float*>(p); });
  return nb::ndarray<float, Framework...>(values, {6}, owner);
}

template <std::size_t>
using float_of = any_floats;

// A function of as many tensors as indices, with its name.
template <std::size_t... Indices>
static void add_of(nb::module_& m, std::index_sequence<Indices...>) {
  m.def(("argument" + std::to_string(sizeof...(Indices))).c_str(), [](float_of<Indices>...) {});
}

template <std::size_t... Counts>
static void add_counts(nb::module_& m) {
  (add_of(m, std::make_index_sequence<Counts>()), ...);
}

NB_MODULE(arguments_nanobind, m) {
  using t = any_floats;
  m.def("argument", [](t) {});
  add_counts<1, 2, 3, 4, 8, 16, 32, 64>(m);
  m.def("argument_list", [](std::vector<t> const&) {});
  m.def("choice", [](nb::ndarray<nb::ro, nb::device::cpu> x) -> std::size_t {
    if (x.dtype() == nb::dtype<float>()) {
      return sizeof(float);
    }
    if (x.dtype() == nb::dtype<double>()) {
      return sizeof(double);
    }
    if (x.dtype() == nb::dtype<std::int32_t>()) {
      return sizeof(std::int32_t);
    }
    throw nb::type_error("float32, float64 or int32");
  });
  m.def("to_nanobind", [] { return make<nb::array_api>(); });
  m.def("to_numpy", [] { return make<nb::numpy>(); });
  m.def("to_torch", [] { return make<nb::pytorch>(); });
  m.def("to_jax", [] { return make<nb::jax>(); });
}
