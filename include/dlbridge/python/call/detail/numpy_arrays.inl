// The inline bodies of numpy_arrays.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <utility>

#include <dlbridge/device.hpp>
#include <dlbridge/python/call/detail/numpy_arrays.hpp>
#include <dlbridge/python/export/buffer.hpp>
#include <dlbridge/python/import/detail/ndarray.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/version.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
inline ref numpy_arrays::give(managed_tensor& m) const noexcept {
  tensor_view const view = m.view();
  PyObject* const descr = descrs_[place_of(view.dtype())];
  if (descr == nullptr || view.device() != cpu || view.rank() > most_dims) {
    return ref();
  }
  std::int64_t strides[most_dims];
  view.copy_strides(strides);
  Py_ssize_t byte_strides[most_dims];  // a product may wrap where it leads to no element
  auto const bytes = static_cast<std::uint64_t>(view.dtype().abi().bits / 8);
  for (int i = 0; i < view.rank(); ++i) {
    byte_strides[i] = static_cast<Py_ssize_t>(static_cast<std::uint64_t>(strides[i]) * bytes);
  }
  void* const data = nonnull_address(view);  // NumPy would allocate memory for null
  ref owner = wrap_tensor(std::move(m));
  ref array = owner ? make(descr, view.rank(), view.shape(), byte_strides, data,
                           view.read_only() ? 0 : ndarray_writable)
                    : ref();
  if (array && call_slot(set_base_object_, array.get(), owner.release()) != 0) {
    array = ref();
  }
  return array;
}

inline managed_tensor numpy_arrays::allocate(dtype type, dims const& shape,
                                             ref& object) const noexcept {
  managed_tensor result;
  PyObject* const descr = descrs_[place_of(type)];
  if (descr == nullptr || shape.size() > direct_rank) {
    return result;
  }
  ref array = make(descr, shape.size(), shape.data(), nullptr, nullptr, 0);
  DLTensor fields;
  copied_dims copied;
  std::uint64_t flags = 0;
  if (!array || !read_ndarray(array.get(), fields, copied, flags)) {
    return result;
  }
  result = own_ndarray(array.get(), fields, flags, version{stated_major, stated_minor});
  if (result) {
    object = std::move(array);
  } else {
    api<PyErr_NoMemory>();
  }
  return result;
}

inline int numpy_arrays::place_of(dtype type) noexcept {
  DLDataType const t = type.abi();
  int size = 0;
  while (size < sizes && 8 << size != t.bits) {
    ++size;
  }
  return t.code < codes && size < sizes && t.lanes == 1 ? t.code * sizes + size : codes * sizes;
}

inline ref numpy_arrays::make(PyObject* descr, int rank, std::int64_t const* shape,
                              Py_ssize_t const* byte_strides, void* data,
                              int flags) const noexcept {
  Py_INCREF(descr);
  return ref::steal(call_slot(new_from_descr_, type_, descr, rank,
                              reinterpret_cast<Py_ssize_t const*>(shape), byte_strides, data, flags,
                              static_cast<PyObject*>(nullptr)));
}

numpy_arrays const* find_numpy_arrays() noexcept {
  enum state : int { unknown, copying, works, fails };
  static std::atomic<int> known{unknown};  // std::atomic<state> would not be hidden
  static numpy_arrays arrays;
  if (known.load(std::memory_order_acquire) == unknown) {
    numpy_arrays loaded;
    bool const is_usable = !uses_protocol_only() && loaded.load();
    if (!is_usable && !suppress_exception()) {
      return nullptr;
    }
    int expected = unknown;  // another thread may have loaded them meanwhile
    if (known.compare_exchange_strong(expected, is_usable ? copying : fails) && is_usable) {
      arrays = loaded;
      known.store(works, std::memory_order_release);
    }
  }
  return known.load(std::memory_order_acquire) == works ? &arrays : nullptr;
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
