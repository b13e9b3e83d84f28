// make_vector: a Tensor on a C++ vector, by which the demo and the tests observe when C++ memory is
// freed.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python.hpp>

#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace demo {
// Calls a Python function when it is destroyed, on any thread, with or without the GIL.
class on_destroy {
 public:
  explicit on_destroy(dlbridge::python::ref function) noexcept : function_(function.release()) {}
  on_destroy(on_destroy&& other) noexcept : function_(std::exchange(other.function_, nullptr)) {}
  ~on_destroy() {
    namespace dp = dlbridge::python;
    if (function_ == nullptr || !dp::interpreter_alive()) {
      return;
    }
    dp::gil_hold const gil;
    dp::error_keeper const pending;
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
DLBRIDGE_COLD inline dlbridge::managed_tensor build_vector(Py_ssize_t size, PyObject* on_free) {
  traced_vector v{std::vector<float>(static_cast<std::size_t>(size)),
                  on_destroy(dlbridge::python::ref::borrow(on_free))};
  std::iota(v.elements.begin(), v.elements.end(), 0.0F);
  return dlbridge::build(std::move(v));
}

// _vector(size, on_free)
DLBRIDGE_COLD inline PyObject* make_vector(PyObject*, PyObject* arguments) noexcept {
  namespace dp = dlbridge::python;
  Py_ssize_t size = 0;
  PyObject* on_free = nullptr;
  if (!dp::api<PyArg_ParseTuple>(arguments, "nO:_vector", &size, &on_free)) {
    return nullptr;
  }
  dp::ref tensor;
  dp::guarded([&] { tensor = dp::wrap_tensor(build_vector(size, on_free)); });
  return tensor.release();
}
}  // namespace demo
