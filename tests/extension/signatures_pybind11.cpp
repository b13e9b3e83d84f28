// SPDX-License-Identifier: BSD-3-Clause
// The module `signatures_pybind11`: the functions of the table of signatures, bound by
// dlbridge::def. PART selects the functions that a translation unit binds.
#include <dlbridge/pybind11.hpp>

#include <string>
#include <utility>

#include "signatures.hpp"
#include "signatures_buffers.hpp"
#include "signatures_containers.hpp"
#include "signatures_members.hpp"
#include "signatures_numbers.hpp"
#include "signatures_results.hpp"
#include "signatures_types.hpp"

namespace py = pybind11;

namespace {
struct binder {
  py::module_& m;
  template <class F, class... Names>
  void operator()(char const* name, F function, Names... names) const {
    dlbridge::def(m, name, std::move(function), py::arg(names)...);
  }
};
}  // namespace

void add_containers(py::module_& m);
void add_container_results(py::module_& m);
void add_element_types(py::module_& m);
void add_conversions(py::module_& m);
void add_broadcasts(py::module_& m);
void add_buffers(py::module_& m);
void add_fast(py::module_& m);

#if PART == 1
void add_containers(py::module_& m) { signatures::add_containers(binder{m}); }
void add_container_results(py::module_& m) { signatures::add_container_results(binder{m}); }
void add_element_types(py::module_& m) { signatures::add_element_types(binder{m}); }
#elif PART == 2
// Converted parameters by plain pybind11, by def_fast, in overloads and in a class.
void add_more_conversions(py::module_& m) {
  using namespace signatures;
  using doubles = tensor_span<double const, vector>;
  m.def("plain_sum_converted", [](converted_span x) { return total(x); }, py::arg("x"));
  m.def("plain_sum_exact", [](converted_span x) { return total(x); }, py::arg("x").noconvert());
  m.def("plain_kind", [](converted_span) { return "converted"; }, py::arg("x"));
  m.def("plain_kind", [](doubles) { return "double"; }, py::arg("x"));
  dlbridge::def(m, "kind", [](doubles) { return "double"; }, py::arg("x"));
  dlbridge::def(m, "kind", [](converted_span) { return "converted"; }, py::arg("x"));
  dlbridge::def_fast(m, "fast_sum_converted", [](converted_span x) { return total(x); }, {"x"});
  dlbridge::def_fast(m, "fast_double_converted",
                     [](convert<float, vector> x) { return times(x, 2); }, {"x"});
  m.def("cast_converted", [](py::object const& x) {
    return total(dlbridge::cast<convert<float, vector> >(x)) +
           total(py::cast<convert<double, vector> >(x));
  });
  py::class_<summed> bound(m, "Summed");
  dlbridge::def(bound, py::init<convert<float, vector> >(), py::arg("x"));
  dlbridge::def_static(bound, "of", &summed::of, py::arg("x"));
  bound.def_readonly("sum", &summed::sum);
}
void add_conversions(py::module_& m) {
  signatures::add_conversions(binder{m});
  add_more_conversions(m);
}
void add_broadcasts(py::module_& m) { signatures::add_broadcasts(binder{m}); }
// Parameters that accept buffers, by plain pybind11 and in overloads.
void add_more_buffers(py::module_& m) {
  using namespace signatures;
  using doubles = or_other<tensor_span<double const>, dlbridge::buffers>;
  m.def("plain_sum_bytes", [](bytes x) { return total(x); }, py::arg("x"));
  m.def(
      "plain_sum_bytes_or_zero", [](std::optional<bytes> const& x) { return x ? total(*x) : 0; },
      py::arg("x"));
  dlbridge::def(m, "kind_of", [](bytes const&) { return "bytes"; }, py::arg("x"));
  dlbridge::def(m, "kind_of", [](doubles const&) { return "doubles"; }, py::arg("x"));
}
// Parameters that accept numbers, by plain pybind11 and in overloads.
void add_more_numbers(py::module_& m) {
  using namespace signatures;
  using integers = or_other<tensor_span<std::int64_t const, vector>, dlbridge::numbers>;
  m.def("plain_sum_numbers", [](numbers const& x) { return total(x); }, py::arg("x"));
  dlbridge::def(m, "kind_of_list", [](integers const&) { return "integers"; }, py::arg("x"));
  dlbridge::def(m, "kind_of_list", [](numbers const&) { return "numbers"; }, py::arg("x"));
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
      py::arg("x"), py::arg("y"));
}
void add_buffers(py::module_& m) {
  signatures::add_buffers(binder{m});
  add_more_buffers(m);
  signatures::add_numbers(binder{m});
  add_more_numbers(m);
}
#elif PART == 3
namespace {
struct fast_binder {
  py::module_& m;
  template <class F, class... Names>
  void operator()(char const* name, F function, Names... names) const {
    dlbridge::def_fast(m, name, function, {names...});
  }
};
}  // namespace

// The submodule `fast`: the functions by def_fast.
void add_fast(py::module_& m) {
  py::module_ fast = m.def_submodule("fast");
  signatures::add_single(fast_binder{fast});
  signatures::add_results(fast_binder{fast});
  signatures::add_named_extents(fast_binder{fast});
  signatures::add_containers(fast_binder{fast});
  signatures::add_container_results(fast_binder{fast});
  signatures::add_buffers(fast_binder{fast});
  signatures::add_numbers(fast_binder{fast});
}
#else
namespace {
// What the members need of the binding library.
struct library {
  using object = py::object;
  using args = py::args;
  using kwargs = py::kwargs;
  using list = py::list;
  template <class T>
  using class_of = py::class_<T>;
  template <class... Parameters>
  using init = py::detail::initimpl::constructor<Parameters...>;  // of py::init<Parameters...>()
  static py::arg arg(char const* name) { return py::arg(name); }
  static std::string text(py::handle x) { return py::str(x); }
  template <class T>
  static T& object_of(py::handle self) {
    return self.cast<T&>();
  }
};
}  // namespace

PYBIND11_MODULE(signatures_pybind11, m, py::mod_gil_not_used()) {
  dlbridge::init(m);
  signatures::add_single(binder{m});
  signatures::add_results(binder{m});
  signatures::add_named_extents(binder{m});
  add_containers(m);
  add_container_results(m);
  add_fast(m);
  signatures::add_members<library>(m);
  add_element_types(m);
  add_conversions(m);
  add_broadcasts(m);
  add_buffers(m);
}
#endif
