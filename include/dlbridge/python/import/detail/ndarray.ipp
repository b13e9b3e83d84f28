// The bodies of ndarray.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstring>

#include <dlbridge/python/detail/formats.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/import/detail/dlpack_import.hpp>
#include <dlbridge/python/import/detail/ndarray.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
DLBRIDGE_API void state_ndarray_version(managed_tensor const& m) noexcept {
  if (DLManagedTensorVersioned* const raw = m.get_versioned()) {
    version const stated = version_of_ndarrays();
    raw->version = {stated.major_number, stated.minor_number};
  }
}

// The result of a method; empty if there is no object, or with an exception set.
template <class... Arguments>
inline ref call_method(ref const& object, char const* name, Arguments... arguments) noexcept {
  return object ? ref::steal(api<PyObject_CallMethod>(object.get(), name, arguments...)) : ref();
}

// Whether read_ndarray describes this array as its __dlpack__ does.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline bool test_ndarray(PyObject* array) noexcept {
  DLTensor fields;
  copied_dims dims;
  std::uint64_t flags = 0;
  managed_tensor const exported = import_producer(array);
  if (!exported || exported.kind() != struct_kind::versioned ||
      !read_ndarray(array, fields, dims, flags)) {
    return false;
  }
  tensor_view const view = exported.view();
  if (view.data() != fields.data || view.rank() != fields.ndim ||
      view.dtype() != dtype(fields.dtype) || (view.flags() & flag_read_only) != flags) {
    return false;
  }
  for (int i = 0; i < view.rank(); ++i) {  // NumPy up to 2.2 exports no strides of a compact array
    if (view.extent(i) != dims.shape[i] || view.stride(i) != dims.strides[i]) {
      return false;
    }
  }
  version const stated = exported.version();
  stated_by_ndarrays().store(std::uint64_t{stated.major_number} << 32 | stated.minor_number,
                             std::memory_order_release);
  return true;
}

DLBRIDGE_NOINLINE DLBRIDGE_API bool test_ndarrays(PyTypeObject* type) noexcept {
  if (object_size(type) < static_cast<Py_ssize_t>(sizeof(ndarray_fields))) {
    return false;
  }
  ref const numpy = ref::steal(api<PyImport_ImportModule>("numpy"));
  ref const version =
      numpy ? ref::steal(api<PyObject_GetAttrString>(numpy.get(), "__version__")) : ref();
  char const* const text = version && PyUnicode_Check(version.get())
                               ? api<PyUnicode_AsUTF8AndSize>(version.get(), nullptr)
                               : nullptr;
  if (text == nullptr || (std::strncmp(text, "1.", 2) != 0 && std::strncmp(text, "2.", 2) != 0)) {
    return false;
  }
  bool all = true;
  for (char const* code = "?bBhHiIlLqQefdFD"; *code != '\0' && all; ++code) {
    ref const plain = call_method(numpy, "zeros", "((iii)C)", 2, 3, 4, static_cast<int>(*code));
    ref const transposed = call_method(plain, "transpose", "iii", 1, 0, 2);
    ref const flipped = transposed ? call_method(numpy, "flip", "Oi", transposed.get(), 1) : ref();
    all = flipped && Py_TYPE(flipped.get()) == type && test_ndarray(plain.get()) &&
          test_ndarray(flipped.get());
    ref const result = all ? call_method(flipped, "setflags", "i", 0) : ref();
    all = result && test_ndarray(flipped.get());
  }
  return all;
}

DLBRIDGE_API bool has_same_elements(tensor_view const& now, tensor_view const& before) noexcept {
  auto const position = [](tensor_view const& view) {
    return reinterpret_cast<std::uintptr_t>(view.data()) + view.byte_offset();
  };
  bool is_same = position(now) == position(before) && now.dtype() == before.dtype() &&
                 now.rank() == before.rank();
  for (int i = 0; is_same && i < now.rank(); ++i) {
    is_same = now.extent(i) == before.extent(i) &&
              (now.extent(i) <= 1 || now.stride(i) == before.stride(i));
  }
  return is_same || (now.empty() && before.empty());
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
