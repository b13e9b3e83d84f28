// get_shape and others: compute the attributes of Tensor that its description states.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/python/detail/core.hpp>
#include <dlbridge/python/detail/formats.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/python/tensor/detail/tensor_views.hpp>
#include <dlbridge/python/tensor/text_types.hpp>
#include <dlbridge/view.hpp>

namespace core DLBRIDGE_LOCAL {
inline ref int_tuple(int count, std::int64_t const* values) noexcept {
  ref tuple = ref::steal(api<PyTuple_New>(count));
  for (int i = 0; tuple && i < count; ++i) {
    PyObject* const item = PyLong_FromLongLong(values[i]);
    if (item == nullptr) {
      return ref();
    }
    PyTuple_SET_ITEM(tuple.get(), i, item);
  }
  return tuple;
}

// Strides times a factor: 1 for elements, the element size for bytes. The product may wrap where
// the extent is 1, as the stride then may be any number: interfaces have 64 bits for it.
inline ref strides_tuple(tensor_view const& view, std::int64_t factor) noexcept {
  std::int64_t strides[max_rank];
  view.copy_strides(strides);
  for (int i = 0; i < view.rank(); ++i) {
    strides[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(strides[i]) *
                                           static_cast<std::uint64_t>(factor));
  }
  return int_tuple(view.rank(), strides);
}

inline ref shape_of(tensor_view const& view) noexcept {
  return int_tuple(view.rank(), view.shape());
}
inline ref element_strides(tensor_view const& view) noexcept { return strides_tuple(view, 1); }
inline ref byte_strides(tensor_view const& view) noexcept {
  if (is_sub_byte(view.dtype()) && !view.is_padded()) {
    return ref::borrow(Py_None);
  }
  ref const bytes = to_python(element_bytes(view.dtype()));
  ref strides = strides_tuple(view, 1);
  for (int i = 0; bytes && strides && i < view.rank(); ++i) {  // a product may need 66 bits
    PyObject* const product =
        api<PyNumber_Multiply>(PyTuple_GET_ITEM(strides.get(), i), bytes.get());
    if (product == nullptr) {
      return ref();
    }
    decref(PyTuple_GET_ITEM(strides.get(), i));
    PyTuple_SET_ITEM(strides.get(), i, product);
  }
  return bytes ? std::move(strides) : ref();
}
inline std::int64_t item_size(tensor_view const& view) noexcept {
  return element_bytes(view.dtype());
}
inline std::int64_t compact_size(tensor_view const& view) noexcept {
  return bytes_for(view.count(), view.dtype(), view.is_padded());
}
// Whether data is null and byte_offset 0 in an export, whatever the producer wrote.
inline bool has_null_data(tensor_view const& view) noexcept {
  return view.empty() && !keeps_data(view.device());
}
inline ref address_of(tensor_view const& view) noexcept {
  void* const data = has_null_data(view) ? nullptr : const_cast<void*>(view.data());
  return ref::steal(PyLong_FromVoidPtr(data));
}
inline std::uint64_t offset_of(tensor_view const& view) noexcept {
  return has_null_data(view) ? 0 : view.byte_offset();
}

// A getter of what a function, or a member, gives of the description.
template <auto Get>
PyObject* get_of_view(PyObject* self, void*) noexcept {
  return to_python(std::invoke(Get, tensor_in(self).view)).release();
}

inline PyObject* get_version(PyObject* self, void*) noexcept {
  version stated;
  if (!read_producer_version(tensor_in(self), stated)) {
    Py_RETURN_NONE;
  }
  return api<Py_BuildValue>("(II)", unsigned{stated.major_number}, unsigned{stated.minor_number});
}

// __cuda_array_interface__. AttributeError, so that hasattr returns False, unless the memory is
// CUDA's and the dtype has a typestr.
DLBRIDGE_COLD inline PyObject* get_cuda_array_interface(PyObject* self, void*) noexcept {
  tensor_view const& view = tensor_in(self).view;
  format_row const* const format = find_format(view.dtype());
  if (runtime_of(view.device()) != runtime_kind::cuda || format == nullptr) {
    api<PyErr_Format>(PyExc_AttributeError, "a tensor %s has no __cuda_array_interface__",
                      name_of(view).c_str());
    return nullptr;
  }
  ref const shape = int_tuple(view.rank(), view.shape());
  ref const strides = strides_tuple(view, element_bytes(view.dtype()));
  ref const address = address_of(view);
  if (!shape || !strides || !address) {
    return nullptr;
  }
  std::int64_t const stream = protocol_stream(tensor_in(self).ready_on());
  return api<Py_BuildValue>("{s:O,s:s,s:(OO),s:O,s:i,s:L}", "shape", shape.get(), "typestr",
                            typestr_of(*format).c_str(), "data", address.get(),
                            view.read_only() ? Py_True : Py_False, "strides", strides.get(),
                            "version", 3, "stream", static_cast<long long>(stream));
}
}  // namespace core DLBRIDGE_LOCAL
