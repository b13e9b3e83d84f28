// The bodies of torch_tensor.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>

#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/import/detail/ndarray.hpp>
#include <dlbridge/python/import/detail/torch_tensor.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/runtime/detail/library.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/validate.hpp>

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
};

DLBRIDGE_LOCAL inline torch_functions& functions_of_torch() noexcept {
  static torch_functions functions{};
  return functions;
}

// A handle is a pointer to an at::Tensor, which an object contains.
inline void* torch_handle_of(PyObject* object) noexcept { return object + 1; }

inline bool read_by(torch_functions const& of, PyObject* object, DLTensor& out) noexcept {
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

// A class, which is held for ever; null, without an exception, if there is none.
inline PyTypeObject* find_torch_type(char const* module, char const* name) noexcept {
  ref type = import_function(module, name);
  return type && PyType_Check(type.get()) ? reinterpret_cast<PyTypeObject*>(type.release())
                                          : nullptr;
}

// The functions without their dtypes; the last is null if one is missing. Where the process has
// loaded several copies of PyTorch's library, the objects may be those of the other one.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline torch_functions find_torch_functions() noexcept {
  using dlbridge::detail::find_symbol;
  torch_functions found{};
  char const* const prefix = "libtorch_cpu.";
  void* const library = dlbridge::detail::count_loaded_libraries(prefix) == 1
                            ? dlbridge::detail::find_loaded_library(prefix)
                            : nullptr;
  bool all = library != nullptr;
  auto const find = [&](auto& function, char const* name) {
    any_function const address = all ? find_symbol(library, name) : nullptr;
    all = address != nullptr;
    function = reinterpret_cast<std::decay_t<decltype(function)>>(address);
  };
  find(found.device_type, "aoti_torch_get_device_type");
  find(found.dtype, "aoti_torch_get_dtype");
  find(found.dim, "aoti_torch_get_dim");
  find(found.data_ptr, "aoti_torch_get_data_ptr");
  find(found.sizes, "aoti_torch_get_sizes");
  find(found.strides, "aoti_torch_get_strides");
  return found;
}

// Whether a tensor is read as the table describes it. Learns its dtype before.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline bool test_torch_tensor(torch_functions& of,
                                                              exchange_table table,
                                                              PyObject* tensor) noexcept {
  if (Py_TYPE(tensor) != of.tensor_type) {  // a mode of PyTorch is active
    return false;
  }
  ref const address = ref::steal(api<PyObject_GetAttrString>(tensor, "_cdata"));
  void* const handle = torch_handle_of(tensor);
  DLTensor lent;
  DLTensor read;
  std::int32_t dtype = 0;
  if (!address || !PyLong_CheckExact(address.get()) ||
      api<PyLong_AsVoidPtr>(address.get()) != *static_cast<void**>(handle) ||
      !table.try_lend(tensor, lent) || !check_tensor(lent).ok() || of.dtype(handle, &dtype) != 0) {
    return false;
  }
  of.dtypes[static_cast<std::uint8_t>(dtype)] = lent.dtype;
  return read_by(of, tensor, read) && check_tensor(read).ok() &&
         has_same_elements(tensor_view(read, 0), tensor_view(lent, 0));
}

// Whether all tensors of the self-test are: one with gaps between its elements, and one of each
// dtype with permuted strides.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline bool test_torch_tensors(torch_functions& of,
                                                               exchange_table table) noexcept {
  ref const torch = ref::steal(api<PyImport_ImportModule>("torch"));
  of.tensor_type = torch ? find_torch_type("torch", "Tensor") : nullptr;
  of.parameter_type = of.tensor_type ? find_torch_type("torch.nn", "Parameter") : nullptr;
  ref x = of.parameter_type ? call_method(torch, "ones", "iii", 2, 3, 4) : ref();
  x = call_method(x, "cpu", nullptr);  // from the device that the program made the default
  x = call_method(x, "narrow", "iii", 1, 1, 2);
  x = call_method(x, "permute", "iii", 2, 0, 1);
  bool all = x && table.can_lend() && test_torch_tensor(of, table, x.get());
  for (char const* name : {"bool", "uint8", "int8", "int16", "int32", "int64", "float16",
                           "bfloat16", "float32", "float64"}) {
    ref const dtype = all ? ref::steal(api<PyObject_GetAttrString>(torch.get(), name)) : ref();
    ref const each = dtype ? call_method(x, "to", "O", dtype.get()) : ref();
    all = each && test_torch_tensor(of, table, each.get());
  }
  return all;
}

DLBRIDGE_NOINLINE DLBRIDGE_API void test_torch(exchange_table table) noexcept {
  torch_functions found = find_torch_functions();
  bool const all = found.strides != nullptr && test_torch_tensors(found, table);
  if (suppress_exception()) {
    functions_of_torch() = all ? found : torch_functions{};
    is_torch_tested() = true;
  }
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool read_torch_tensor(PyObject* object, DLTensor& out) noexcept {
  torch_functions const& of = functions_of_torch();
  return (Py_TYPE(object) == of.tensor_type || Py_TYPE(object) == of.parameter_type) &&
         read_by(of, object, out);
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
