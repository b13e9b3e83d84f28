// SPDX-License-Identifier: BSD-3-Clause
// The module `signatures_nanobind`: the functions of the table of signatures, bound by
// dlbridge::def.
#include <dlbridge/nanobind.hpp>

#include <string>
#include <utility>

#include "signatures.hpp"
#include "signatures_buffers.hpp"
#include "signatures_containers.hpp"
#include "signatures_members.hpp"
#include "signatures_numbers.hpp"
#include "signatures_results.hpp"
#include "signatures_types.hpp"

namespace nb = nanobind;

namespace {
struct binder {
  nb::module_& m;
  template <class F, class... Names>
  void operator()(char const* name, F function, Names... names) const {
    dlbridge::def(m, name, std::move(function), nb::arg(names)...);
  }
};

// What the members need of the binding library.
struct library {
  using object = nb::object;
  using args = nb::args;
  using kwargs = nb::kwargs;
  using list = nb::list;
  template <class T>
  using class_of = nb::class_<T>;
  template <class... Parameters>
  using init = nb::init<Parameters...>;
  static nb::arg arg(char const* name) { return nb::arg(name); }
  static std::string text(nb::handle x) { return nb::str(x).c_str(); }
  template <class T>
  static T& object_of(nb::handle self) {
    return nb::cast<T&>(self);
  }
};

// Converted parameters by plain nanobind, by def_fast, in overloads and in a class.
void add_more_conversions(nb::module_& m) {
  using namespace signatures;
  using doubles = tensor_span<double const, vector>;
  m.def("plain_sum_converted", [](converted_span x) { return total(x); }, nb::arg("x"));
  m.def("plain_sum_exact", [](converted_span x) { return total(x); }, nb::arg("x").noconvert());
  m.def("plain_kind", [](converted_span) { return "converted"; }, nb::arg("x"));
  m.def("plain_kind", [](doubles) { return "double"; }, nb::arg("x"));
  dlbridge::def(m, "kind", [](doubles) { return "double"; }, nb::arg("x"));
  dlbridge::def(m, "kind", [](converted_span) { return "converted"; }, nb::arg("x"));
  dlbridge::def_fast(m, "fast_sum_converted", [](converted_span x) { return total(x); }, {"x"});
  dlbridge::def_fast(m, "fast_double_converted",
                     [](convert<float, vector> x) { return times(x, 2); }, {"x"});
  m.def("cast_converted", [](nb::object const& x) {
    return total(nb::cast<convert<float, vector>>(x)) + total(nb::cast<convert<double, vector>>(x));
  });
  nb::class_<summed> bound(m, "Summed");
  dlbridge::def(bound, nb::init<convert<float, vector>>(), nb::arg("x"));
  dlbridge::def_static(bound, "of", &summed::of, nb::arg("x"));
  bound.def_ro("sum", &summed::sum);
}

// Parameters that accept buffers, by plain nanobind and in overloads.
void add_more_buffers(nb::module_& m) {
  using namespace signatures;
  using doubles = or_other<tensor_span<double const>, dlbridge::buffers>;
  m.def("plain_sum_bytes", [](bytes x) { return total(x); }, nb::arg("x"));
  m.def(
      "plain_sum_bytes_or_zero", [](std::optional<bytes> const& x) { return x ? total(*x) : 0; },
      nb::arg("x").none());
  dlbridge::def(m, "kind_of", [](bytes const&) { return "bytes"; }, nb::arg("x"));
  dlbridge::def(m, "kind_of", [](doubles const&) { return "doubles"; }, nb::arg("x"));
}

// Parameters that accept numbers, by plain nanobind and in overloads.
void add_more_numbers(nb::module_& m) {
  using namespace signatures;
  using integers = or_other<tensor_span<std::int64_t const, vector>, dlbridge::numbers>;
  m.def("plain_sum_numbers", [](numbers const& x) { return total(x); }, nb::arg("x"));
  dlbridge::def(m, "kind_of_list", [](integers const&) { return "integers"; }, nb::arg("x"));
  dlbridge::def(m, "kind_of_list", [](numbers const&) { return "numbers"; }, nb::arg("x"));
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
      nb::arg("x"), nb::arg("y"));
}
}  // namespace

NB_MODULE(signatures_nanobind, m) {
  dlbridge::init(m);
  signatures::add_single(binder{m});
  signatures::add_results(binder{m});
  signatures::add_named_extents(binder{m});
  signatures::add_containers(binder{m});
  signatures::add_container_results(binder{m});
  signatures::add_members<library>(m);
  signatures::add_element_types(binder{m});
  signatures::add_conversions(binder{m});
  add_more_conversions(m);
  signatures::add_broadcasts(binder{m});
  signatures::add_buffers(binder{m});
  add_more_buffers(m);
  signatures::add_numbers(binder{m});
  add_more_numbers(m);
}
