// SPDX-License-Identifier: BSD-3-Clause
// Functions that take tensors and do nothing, bound in every way that dlbridge offers, and
// functions that return a new tensor to each library.
#include <dlbridge/pybind11.hpp>

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using any_floats = dlbridge::tensor_span<float const>;
using owned_floats = dlbridge::tensor<float const>;
using matrix =
    dlbridge::tensor_span<float const,
                          dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent>,
                          dlbridge::row_major>;
using bytes = dlbridge::or_other<
    dlbridge::tensor_span<std::uint8_t const, dlbridge::shape<dlbridge::dynamic_extent>>,
    dlbridge::buffers>;
using owned_matrix =
    dlbridge::argument<float const,
                       dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent>>;

// Memory that C++ allocates, and that the result owns.
static dlbridge::managed_tensor make() { return dlbridge::build(std::vector<float>(6)); }

template <class Library>
static void add_result(pybind11::module_& m, std::string const& name, Library library) {
  dlbridge::def_fast(
      m, ("fast_to_" + name).c_str(), [] { return make(); }, {}, "", dlbridge::returns{library});
  dlbridge::def(m, ("to_" + name).c_str(), [] { return make(); }, dlbridge::returns{library});
}

// Binds a function by dlbridge::def and, with another name, by pybind11's m.def.
template <class F>
static void add_both(pybind11::module_& m, std::string const& name, F function) {
  dlbridge::def(m, name.c_str(), function);
  m.def(("plain_" + name).c_str(), function);
}

// A function with an overload for each dtype.
template <class... Elements>
static void add_overloads(pybind11::module_& m) {
  (add_both(m, "of_ten", [](dlbridge::tensor_span<Elements const>) {}), ...);
}

// Two overloads of functions of three shapes.
template <class... Elements>
static void add_pairs(pybind11::module_& m) {
  using dlbridge::tensor_span;
  (add_both(m, "two_of", [](tensor_span<Elements const>) {}), ...);
  (add_both(m, "two_of_three",
            [](tensor_span<Elements const>, tensor_span<Elements const>,
               tensor_span<Elements const>) {}),
   ...);
  (add_both(m, "two_of_number", [](tensor_span<Elements const>, double) {}), ...);
}

template <std::size_t>
using float_of = any_floats;

// A function of as many tensors as indices, with its name.
template <std::size_t... Indices>
static void add_of(pybind11::module_& m, std::index_sequence<Indices...>) {
  static std::vector<std::string> const names{("x" + std::to_string(Indices))...};
  dlbridge::def_fast(m, ("fast" + std::to_string(sizeof...(Indices))).c_str(),
                     [](float_of<Indices>...) {}, {names[Indices].c_str()...});
}

template <std::size_t... Counts>
static void add_counts(pybind11::module_& m) {
  (add_of(m, std::make_index_sequence<Counts>()), ...);
}

#if !defined(MODULE_NAME)  // arguments_compiled is the same in compiled mode
#define MODULE_NAME arguments_dlbridge
#endif
PYBIND11_MODULE(MODULE_NAME, m) {
  using t = any_floats;
  dlbridge::init(m);
  dlbridge::def_fast(m, "fast", [](t) {}, {"x"});
  add_counts<1, 2, 3, 4, 8, 16, 32, 64>(m);
  dlbridge::def_fast(m, "fast_list", [](std::vector<t> const&) {}, {"x"});
  dlbridge::def_fast(m, "fast_matrix", [](matrix) {}, {"x"});
  dlbridge::def_fast(m, "fast_owned", [](owned_floats) {}, {"x"});
  m.def("object", [](pybind11::object const&) {});
  dlbridge::def(m, "bytes", [](bytes const& x) { return x.extent(0); });
  m.def("plain_bytes", [](pybind11::buffer const& x) { return x.request().size; });
  m.def("caster", [](t) {});
  m.def("caster3", [](t, t, t) {});
  dlbridge::def(m, "def", [](t) {}, pybind11::arg("x"));
  dlbridge::def(m, "def3", [](t, t, t) {});
  add_overloads<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                std::uint32_t, std::uint64_t, double, float>(m);
  add_pairs<float, double>(m);
  using choice = dlbridge::any_of<dlbridge::types<float const, double const, std::int32_t const>>;
  auto const size_of = [](choice const& x) {
    return dlbridge::visit(x, [](auto span) { return sizeof(*span.data()); });
  };
  dlbridge::def(m, "choice", size_of, pybind11::arg("x"));
  dlbridge::def(
      m, "any_tensor",
      [](dlbridge::any_tensor const& x) {
        return dlbridge::visit<dlbridge::types<float, double, std::int32_t>>(
            x, [](auto span) { return sizeof(*span.data()); });
      },
      pybind11::arg("x"));
  dlbridge::def_fast(m, "like", [](owned_matrix x) { return x.empty_like<float>(); }, {"x"});
  add_result(m, "dlbridge", dlbridge::library::dlbridge);
  add_result(m, "numpy", dlbridge::library::numpy);
  add_result(m, "torch", dlbridge::library::torch);
  add_result(m, "jax", dlbridge::library::jax);
  add_result(m, "tvm_ffi", dlbridge::library::tvm_ffi);
}
