// SPDX-License-Identifier: BSD-3-Clause
// A small extension with pybind11 and dlpack.h only.
#include <dlpack/dlpack.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace {

// [take]
// Takes the tensor out of a producer or a capsule. The caller must call its deleter once.
DLManagedTensor* take(py::object const& x) {
  py::object const capsule = py::hasattr(x, "__dlpack__") ? x.attr("__dlpack__")() : x;
  void* const pointer = PyCapsule_GetPointer(capsule.ptr(), "dltensor");
  if (pointer == nullptr) {
    throw py::error_already_set();
  }
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  return static_cast<DLManagedTensor*>(pointer);
}
// [/take]

struct Matrix {
  float* data;
  std::int64_t rows, columns, row_stride, column_stride;

  float& operator()(std::int64_t i, std::int64_t j) const {
    return data[i * row_stride + j * column_stride];
  }
};

Matrix view_of(DLTensor const& t) {
  if (t.device.device_type != kDLCPU) {
    throw std::runtime_error("expected a CPU tensor");
  }
  if (t.dtype.code != kDLFloat || t.dtype.bits != 32 || t.dtype.lanes != 1) {
    throw std::runtime_error("expected a float32 tensor");
  }
  if (t.ndim != 2) {
    throw std::runtime_error("expected a 2-D tensor");
  }
  Matrix m{static_cast<float*>(t.data), t.shape[0], t.shape[1], t.shape[1], 1};
  if (t.strides != nullptr) {
    m.row_stride = t.strides[0];
    m.column_stride = t.strides[1];
  }
  return m;
}

// [mean]
double mean(py::object const& x) {
  DLManagedTensor* const managed = take(x);
  Matrix const m = view_of(managed->dl_tensor);
  double sum = 0;
  for (std::int64_t i = 0; i < m.rows; ++i) {
    for (std::int64_t j = 0; j < m.columns; ++j) {
      sum += static_cast<double>(m(i, j));
    }
  }
  double const result = sum / static_cast<double>(m.rows * m.columns);
  managed->deleter(managed);
  return result;
}
// [/mean]

void scale(py::object const& x, float factor) {
  DLManagedTensor* const managed = take(x);
  Matrix const m = view_of(managed->dl_tensor);
  for (std::int64_t i = 0; i < m.rows; ++i) {
    for (std::int64_t j = 0; j < m.columns; ++j) {
      m(i, j) *= factor;
    }
  }
  managed->deleter(managed);
}

// A result: the managed struct, and the arrays it points to.
struct Result {
  std::vector<float> elements;
  std::int64_t shape[2];
  std::int64_t strides[2];
  DLManagedTensor managed;
};

py::capsule export_result(std::vector<float> elements, std::int64_t rows, std::int64_t columns) {
  auto result = std::make_unique<Result>();
  result->elements = std::move(elements);
  result->shape[0] = rows;
  result->shape[1] = columns;
  result->strides[0] = columns;
  result->strides[1] = 1;
  DLTensor& t = result->managed.dl_tensor;
  t.data = result->elements.data();
  t.device = {kDLCPU, 0};
  t.ndim = 2;
  t.dtype = {kDLFloat, 32, 1};
  t.shape = result->shape;
  t.strides = result->strides;
  t.byte_offset = 0;
  result->managed.manager_ctx = result.get();
  result->managed.deleter = [](DLManagedTensor* self) {
    delete static_cast<Result*>(self->manager_ctx);
  };
  py::capsule capsule(&result->managed, "dltensor", [](PyObject* self) {
    if (PyCapsule_IsValid(self, "dltensor") != 0) {  // not consumed
      auto* const unused = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(self, "dltensor"));
      unused->deleter(unused);
    }
  });
  result.release();
  return capsule;
}

py::capsule normalized(py::object const& x) {
  DLManagedTensor* const managed = take(x);
  Matrix const m = view_of(managed->dl_tensor);
  float largest = 0;
  for (std::int64_t i = 0; i < m.rows; ++i) {
    for (std::int64_t j = 0; j < m.columns; ++j) {
      largest = std::max(largest, std::abs(m(i, j)));
    }
  }
  if (largest == 0) {
    throw py::value_error("a matrix of zeros cannot be normalized");
  }
  std::vector<float> elements;
  elements.reserve(static_cast<std::size_t>(m.rows * m.columns));
  for (std::int64_t i = 0; i < m.rows; ++i) {
    for (std::int64_t j = 0; j < m.columns; ++j) {
      elements.push_back(m(i, j) / largest);
    }
  }
  managed->deleter(managed);
  return export_result(std::move(elements), m.rows, m.columns);
}

}  // namespace

PYBIND11_MODULE(before, m) {
  m.def("mean", mean, py::arg("x"));
  m.def("scale", scale, py::arg("x"), py::arg("factor"));
  m.def("normalized", normalized, py::arg("x"));
}
