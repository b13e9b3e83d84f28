// shape_of and others: compute the attributes of Tensor that its description states.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/python/detail/formats.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/tensor_view.hpp>

#include "core.hpp"
#include "tensor/tensor_views.hpp"
#include "tensor/text_types.hpp"

namespace core DLBRIDGE_LOCAL {
inline ref int_tuple(int count, std::int64_t const* values) {
  ref tuple = checked(api<PyTuple_New>(count));
  for (int i = 0; i < count; ++i) {
    PyTuple_SET_ITEM(tuple.get(), i, checked(PyLong_FromLongLong(values[i])).release());
  }
  return tuple;
}
inline ref shape_of(tensor_view const& view) { return int_tuple(view.rank(), view.shape()); }

// Strides times a factor: 1 for elements, the element size for bytes. The product may wrap where
// the extent is 1, as the stride then may be any number: interfaces have 64 bits for it.
inline ref strides_tuple(tensor_view const& view, std::int64_t factor) {
  std::int64_t strides[max_rank];
  view.copy_strides(strides);
  for (int i = 0; i < view.rank(); ++i) {
    strides[i] = wrapping_product(strides[i], factor);
  }
  return int_tuple(view.rank(), strides);
}
inline ref element_strides(tensor_view const& view) { return strides_tuple(view, 1); }
inline ref byte_strides(tensor_view const& view) {
  if (is_sub_byte(view.dtype()) && !view.is_padded()) {
    return ref::borrow(Py_None);
  }
  ref const bytes = checked(to_python(element_bytes(view.dtype())));
  ref const strides = element_strides(view);
  ref products = checked(api<PyTuple_New>(view.rank()));
  for (int i = 0; i < view.rank(); ++i) {  // a product may need 66 bits
    PyObject* const stride = PyTuple_GET_ITEM(strides.get(), i);
    PyTuple_SET_ITEM(products.get(), i,
                     checked(api<PyNumber_Multiply>(stride, bytes.get())).release());
  }
  return products;
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

inline ref producer_version(PyObject* self, void*) {
  version stated;
  return read_producer_version(tensor_in(self), stated)
             ? checked(api<Py_BuildValue>("(II)", unsigned{stated.major_number},
                                          unsigned{stated.minor_number}))
             : ref::borrow(Py_None);
}

// A getter of what a function, or a member, gives of the description.
template <auto Get>
ref of_view(PyObject* self, void*) {
  return to_python(std::invoke(Get, tensor_in(self).view));
}
template <auto Get>
constexpr getter get_of_view = &entry<&of_view<Get>>::call;

// Raises that there is no such attribute, so that hasattr returns False.
[[noreturn]] DLBRIDGE_COLD inline void lacks_attribute(tensor_view const& view, char const* name) {
  fail(PyExc_AttributeError, "a tensor %s has no %s", name_of(view).c_str(), name);
}

// What the array interfaces of NumPy and of CUDA have in common, as a dict.
DLBRIDGE_COLD inline ref make_interface(tensor_view const& view, format_row const& format,
                                        PyObject* address, PyObject* strides) {
  return checked(api<Py_BuildValue>("{s:O,s:s,s:(OO),s:O,s:i}", "shape", shape_of(view).get(),
                                    "typestr", typestr_of(format).c_str(), "data", address,
                                    view.read_only() ? Py_True : Py_False, "strides", strides,
                                    "version", 3));
}

// __cuda_array_interface__, unless the memory is not CUDA's or the dtype has no typestr.
DLBRIDGE_COLD inline ref cuda_array_interface(PyObject* self, void*) {
  tensor_view const& view = tensor_in(self).view;
  format_row const* const format = find_format(view.dtype());
  if (runtime_of(view.device()) != runtime_kind::cuda || format == nullptr) {
    lacks_attribute(view, "__cuda_array_interface__");
  }
  ref interface = make_interface(view, *format, checked(address_of(view)).get(),
                                 strides_tuple(view, element_bytes(view.dtype())).get());
  ref const stream = checked(to_python(protocol_stream(tensor_in(self).ready_on())));
  require(api<PyObject_SetItem>(interface.get(), names::get().stream, stream.get()) == 0);
  return interface;
}
}  // namespace core DLBRIDGE_LOCAL
