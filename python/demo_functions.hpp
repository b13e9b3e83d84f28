// add_demo_functions: adds _vector, which the demo and the tests use to observe when C++ memory is
// freed.
#pragma once

#include <dlbridge/python.hpp>

#include <pybind11/pybind11.h>

#include <numeric>
#include <utility>
#include <vector>

namespace demo {
namespace py = pybind11;

// Calls a Python function when it is destroyed, on any thread, with or without the GIL.
class on_destroy {
 public:
  explicit on_destroy(py::object function) noexcept : function_(function.release().ptr()) {}
  on_destroy(on_destroy&& other) noexcept : function_(std::exchange(other.function_, nullptr)) {}
  ~on_destroy() {
    if (function_ == nullptr || !dlbridge::python::interpreter_alive()) {
      return;
    }
    dlbridge::python::gil_hold const gil;
    dlbridge::python::error_keeper const pending;
    namespace dp = dlbridge::python;
    if (!dp::ref::steal(dp::api<PyObject_CallNoArgs>(function_))) {
      dp::api<PyErr_WriteUnraisable>(function_);
    }
    dp::decref(function_);
  }

 private:
  PyObject* function_;
};

struct traced_vector {
  std::vector<float> elements;
  on_destroy callback;
};
}  // namespace demo

template <>
struct dlbridge::array_traits<demo::traced_vector> {
  static description describe(demo::traced_vector& v) noexcept {
    return description::of(v.elements.data(), {v.elements.size()});
  }
};

namespace demo {
inline void add_demo_functions(py::module_& m) {
  m.def(
      "_vector",
      [](std::size_t size, py::object on_free) {
        traced_vector v{std::vector<float>(size), on_destroy(std::move(on_free))};
        std::iota(v.elements.begin(), v.elements.end(), 0.0F);
        dlbridge::python::ref tensor = dlbridge::python::wrap_tensor(dlbridge::build(std::move(v)));
        if (!tensor) {
          throw py::error_already_set();
        }
        return py::reinterpret_steal<py::object>(tensor.release());
      },
      py::arg("size"), py::arg("on_free"),
      "Return a Tensor on a C++ std::vector<float>; on_free is called when the vector is freed.");
}
}  // namespace demo
