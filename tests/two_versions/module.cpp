// SPDX-License-Identifier: BSD-3-Clause
// The source of all pybind11 modules: two versions of the headers, two modes, two visibilities.
#include <dlbridge/pybind11.hpp>
#include <dlbridge/python.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensor/full_tensor_type.hpp"
#include "tensor/functions.hpp"
#if defined(WITH_LIBRARY)
#include "library.hpp"
#endif

namespace py = pybind11;

struct ramp {
  std::vector<float> values = {1, 2, 3};
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

static void refuse() {
  dlbridge::raise(dlbridge::refusal(dlbridge::errc::overflow, "less", "more"));
}

PYBIND11_MODULE(MODULE_NAME, m) {
  namespace dp = dlbridge::python;
  dlbridge::init(m);
  py::class_<ramp> bound(m, "Ramp", py::module_local());
  bound.def(py::init<>());
  dlbridge::def_dlpack(bound);
  dlbridge::def(m, "total", &total, py::arg("x"));
  dlbridge::def_fast<&total>(m, "total_fast", {"x"});
  m.def("total_plain", &total);
  dlbridge::def(m, "kind", &kind, py::arg("x"));  // one by name, which a linker can merge
  dlbridge::def(m, "kind", [](dlbridge::tensor<double> const&) { return "double"; }, py::arg("x"));
  dlbridge::def(m, "total_beside", [](std::pair<to_read, ramp*> x) { return total(x.first); });
  m.def("counted", [] { return dlbridge::build(std::vector<float>{0, 1, 2}); });
  core::bind_functions(m);
  m.attr("Tensor") =
      py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(core::full_tensor_type()));
  m.attr("minor") = DLBRIDGE_VERSION_MINOR;
  m.def("vector", [](std::vector<float>::size_type size) {
    return py::reinterpret_steal<py::object>(
        dp::wrap_tensor(dlbridge::build(std::vector<float>(size, 1.0F))).release());
  });
  // The address of a function that throws, for the modules that catch its exception.
  m.attr("refuse") = reinterpret_cast<std::uintptr_t>(&refuse);
  m.def("caught", [](std::uintptr_t function) {
    try {
      reinterpret_cast<void (*)()>(function)();
    } catch (dlbridge::error const& e) {
      return std::string("dlbridge::error: ") + e.what();
    } catch (std::exception const& e) {
      return std::string("std::exception: ") + e.what();
    }
    return std::string();
  });
#if defined(WITH_LIBRARY)
  static int deleted = 0;
  dlbridge::def(m, "library_total",
                [](dlbridge::any_tensor const& x) { return library::total(x.view()); });
  dlbridge::def(m, "library_counted", [] { return library::counted(deleted); });
  m.def("deleted", [] { return deleted; });
#endif
}
