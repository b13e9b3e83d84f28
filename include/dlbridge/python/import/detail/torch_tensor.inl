// The inline bodies of torch_tensor.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/python/import/detail/torch_tensor.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
// Reads one property of the tensor with a handle. Returns 0 on success. The functions neither raise
// Python exceptions nor run Python code.
template <class T>
using torch_getter = std::int32_t (*)(void* handle, T* out);

struct torch_functions {
  PyTypeObject* tensor_type;
  PyTypeObject* parameter_type;
  torch_getter<std::int32_t> device_type;
  torch_getter<std::int32_t> dtype;
  torch_getter<std::int64_t> dim;
  torch_getter<void*> data_ptr;
  torch_getter<std::int64_t*> sizes;
  torch_getter<std::int64_t*> strides;
  DLDataType dtypes[256];  // by PyTorch's number of the dtype; 0 lanes: not read
  bool is_tested;
};

DLBRIDGE_LOCAL inline torch_functions& functions_of_torch() noexcept {
  static torch_functions functions{};
  return functions;
}

inline bool is_torch_tested() noexcept { return functions_of_torch().is_tested; }

// A handle is a pointer to an at::Tensor, which an object contains.
inline void* torch_handle_of(PyObject* object) noexcept { return object + 1; }

DLBRIDGE_INLINE bool read_by(torch_functions const& of, PyObject* object, DLTensor& out) noexcept {
  void* const handle = torch_handle_of(object);
  std::int32_t device_type = 0;
  std::int32_t dtype = 0;
  std::int64_t rank = 0;
  if ((of.device_type(handle, &device_type) | of.dtype(handle, &dtype) | of.dim(handle, &rank)) !=
          0 ||
      device_type != 0 || of.dtypes[static_cast<std::uint8_t>(dtype)].lanes == 0) {
    return false;
  }
  out.device = {kDLCPU, 0};
  out.ndim = static_cast<std::int32_t>(rank);
  out.dtype = of.dtypes[static_cast<std::uint8_t>(dtype)];
  out.byte_offset = 0;
  return (of.data_ptr(handle, &out.data) | of.sizes(handle, &out.shape) |
          of.strides(handle, &out.strides)) == 0;
}

bool read_torch_tensor(PyObject* object, DLTensor& out) noexcept {
  torch_functions const& of = functions_of_torch();
  return (Py_TYPE(object) == of.tensor_type || Py_TYPE(object) == of.parameter_type) &&
         read_by(of, object, out);
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
