// SPDX-License-Identifier: BSD-3-Clause
// Functions whose parameters are containers of borrowed tensors.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "bindings.hpp"
#include "library_casters.hpp"
#include "registration.hpp"

namespace {

using span = dlbridge::tensor_span<float const, dlbridge::shape<dlbridge::dynamic_extent>>;
using span_to_write = dlbridge::tensor_span<float, dlbridge::shape<dlbridge::dynamic_extent>>;
using integers =
    dlbridge::tensor_span<std::int64_t const, dlbridge::shape<dlbridge::dynamic_extent>>;

double total(span const& x) {
  double sum = 0;
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    sum += static_cast<double>(x(i));
  }
  return sum;
}

std::vector<double> totals(std::vector<span> const& all) {
  std::vector<double> result;
  for (span const& each : all) {
    result.push_back(total(each));
  }
  return result;
}

// pybind11 default-constructs a variant, which a span as the first alternative would prevent.
using either = std::variant<std::monostate, span, integers>;

// The total of floats, or minus the number of integers.
double total_of_either(either const& x) {
  return std::holds_alternative<span>(x) ? total(std::get<span>(x))
                                         : -static_cast<double>(std::get<integers>(x).extent(0));
}

// Binds a function by def and by the binding library.
template <class F>
void add(binder& functions, char const* name, F function) {
  dlbridge::def(functions.by_def, name, function, py::arg("x"));
  functions.by_library.def(name, function, py::arg("x"));
}

}  // namespace

void add_containers(py::module_& m) {
  dlbridge::def(
      m, "total_of_all",
      [](std::vector<span> const& all, int times) {
        double sum = 0;
        for (span const& each : all) {
          sum += total(each) * times;
        }
        return sum;
      },
      py::arg("all"), py::arg("times"));
  binder functions(m);
  add(functions, "totals", [](std::vector<span> const& x) { return totals(x); });
  add(functions, "total_of_numbers",
      [](dlbridge::or_other<span, dlbridge::numbers> const& x) { return total(x); });
  add(functions, "totals_of_nested", [](std::vector<std::vector<span>> const& x) {
    std::vector<double> result;
    for (std::vector<span> const& each : x) {
      for (double const one : totals(each)) {
        result.push_back(one);
      }
    }
    return result;
  });
  add(functions, "totals_by_name", [](std::map<std::string, span> const& x) {
    std::map<std::string, double> result;
    for (auto const& [name, each] : x) {
      result[name] = total(each);
    }
    return result;
  });
  auto const of_array = [](std::array<span, 3> const& x) {
    return totals(std::vector<span>(x.begin(), x.end()));
  };
  dlbridge::def(functions.by_def, "totals_of_array", of_array, py::arg("x"));
#if defined(WITH_NANOBIND)  // whose casters take no array of spans, and no reference in a tuple
  using second = span;
#else
  using second = span const&;
  functions.by_library.def("totals_of_array", of_array, py::arg("x"));
#endif
  add(functions, "totals_of_tuple", [](std::tuple<span, second, std::pair<span, int>> x) {
    return totals({std::get<0>(x), std::get<1>(x), std::get<2>(x).first});
  });
  add(functions, "totals_of_optional", [](std::optional<std::vector<span>> const& x) {
    return x ? totals(*x) : std::vector<double>();
  });
  add(functions, "total_of_either", [](either const& x) { return total_of_either(x); });
  add(functions, "totals_of_either", [](std::vector<either> const& x) {
    std::vector<double> result;
    for (auto const& each : x) {
      result.push_back(total_of_either(each));
    }
    return result;
  });
  add(functions, "fill_all", [](std::vector<span_to_write> const& x) {
    for (span_to_write const& each : x) {
      for (std::int64_t i = 0; i < each.extent(0); ++i) {
        each(i) = 7;
      }
    }
  });
  functions.by_library.def("several", [](int n) {
    std::vector<dlbridge::managed_tensor> all;
    for (int i = 0; i < n; ++i) {
      all.push_back(dlbridge::build(std::vector<float>(static_cast<std::size_t>(i), 1)));
    }
    return all;
  });
  // Calls f during the call, while the tensors are borrowed.
  auto const totals_after = [](std::vector<span> const& x, py::procedure const& f) {
    f();
    return totals(x);
  };
  dlbridge::def(functions.by_def, "totals_after", totals_after);
  functions.by_library.def("totals_after", totals_after);
  // Overloads: the second accepts what the first refuses.
  dlbridge::def(functions.by_def, "kind_of", [](std::vector<span> const&) { return "floats"; });
  dlbridge::def(functions.by_def, "kind_of",
                [](std::vector<integers> const&) { return "integers"; });
#if !defined(WITH_NANOBIND)  // which casts to owning tensors only
  // A cast within a call is valid until the call returns.
  m.def("total_of_cast", [](py::object const& x, py::procedure const& meanwhile) {
    auto const borrowed = py::cast<span>(x);
    meanwhile();
    return total(borrowed);
  });
  // Outside a call, a cast has nothing that keeps the tensor.
  m.def("add_cast_outside", [](py::object const& x) {
    struct visitor {
      static PyObject* call(PyObject* object, PyObject*) noexcept {
        try {
          return PyFloat_FromDouble(total(py::cast<span>(py::handle(object))));
        } catch (py::cast_error const& e) {
          PyErr_SetString(PyExc_RuntimeError, e.what());
          return nullptr;
        }
      }
    };
    static PyMethodDef definition = {"cast_outside", &visitor::call, METH_NOARGS, nullptr};
    return py::reinterpret_steal<py::object>(PyCFunction_New(&definition, x.ptr()));
  });
#endif
}
