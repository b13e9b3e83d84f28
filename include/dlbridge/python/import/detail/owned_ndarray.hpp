// own_ndarray, own_refused_ndarray: make a managed tensor on the memory of an ndarray.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <new>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/detail/describe_block.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/detail/free_list.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/buffers.hpp>
#include <dlbridge/python/import/detail/ndarray.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/version.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {
// A managed tensor on the memory of an ndarray, in one allocation: what build_on does, without a
// second check of the description.
struct array_block {
  // own_ndarray sets the members; initialization would slow every import.
  DLManagedTensorVersioned managed;
  PyObject* array;  // an owned reference
  copied_dims dims;

  // Uninitialized memory; null when there is none. The caller holds the GIL.
  static void* allocate() noexcept {
#if !defined(Py_GIL_DISABLED)
    if (void* const memory = free_blocks::get().take()) {
      return memory;
    }
#endif
    return ::operator new(sizeof(array_block), std::nothrow);
  }

  // The deleter: any thread, with or without the GIL. As release_object, it leaks the array on
  // purpose once finalization has begun.
  static void destroy(DLManagedTensorVersioned* managed) noexcept {
    auto* const block = static_cast<array_block*>(managed->manager_ctx);
    if (!interpreter_alive()) {
      ::operator delete(block);
      return;
    }
    gil_hold const gil;
    error_keeper const pending;
    decref(block->array);
    recycle(block);
  }

 private:
  using free_blocks = free_list<array_block, 16>;

  static void recycle(array_block* block) noexcept {
#if !defined(Py_GIL_DISABLED)
    if (free_blocks::get().put(block)) {
      return;
    }
#endif
    ::operator delete(block);
  }
};

// Creates a managed tensor that holds an ndarray.
// @param fields what read_ndarray wrote, and is_sound_ndarray accepts.
// @param stated the version in the struct.
// @return the tensor; empty, without an exception, when there is no memory for it.
DLBRIDGE_NOINLINE inline managed_tensor own_ndarray(PyObject* array, DLTensor const& fields,
                                                    std::uint64_t flags, version stated) noexcept {
  void* const memory = array_block::allocate();
  if (memory == nullptr) {
    return managed_tensor();
  }
  auto* const block = ::new (memory) array_block;
  Py_INCREF(array);
  block->array = array;
  block->managed.version = {stated.major_number, stated.minor_number};
  block->managed.manager_ctx = block;
  block->managed.deleter = &array_block::destroy;
  block->managed.flags = flags;
  DLTensor& tensor = block->managed.dl_tensor;
  tensor = fields;
  dlbridge::detail::copy_extents(fields.shape, fields.ndim, block->dims.shape);
  dlbridge::detail::copy_extents(fields.strides, fields.ndim, block->dims.strides);
  tensor.shape = fields.ndim != 0 ? block->dims.shape : nullptr;
  tensor.strides = fields.ndim != 0 ? block->dims.strides : nullptr;
  dlbridge::detail::canonicalize_data(tensor);
  return managed_tensor::adopt(&block->managed);
}

// Imports an ndarray that NumPy does not export by its array interface: one of a dtype of
// ml_dtypes, and a read-only one before NumPy 2.1. Refuses others with the reason, of which the
// pending exception of NumPy is the cause. That exception stays if the object is no such array.
// @param copies whether to import a copy, which NumPy makes
DLBRIDGE_COLD inline managed_tensor own_refused_ndarray(type_entry const& type, PyObject* object,
                                                        bool copies) noexcept {
  ref refused = take_exception();
  if (!is_suppressible(refused.get()) || !exports_fields(type, object)) {
    set_exception(std::move(refused));
    return managed_tensor();
  }
  ref const array =
      copies ? ref::steal(api<PyObject_CallMethod>(object, "copy", nullptr)) : ref::borrow(object);
  ref const described =
      array ? optional_attribute(array.get(), names::get().array_interface) : ref();
  managed_tensor tensor =
      described ? from_array_interface(array.get(), described.get(), cpu) : managed_tensor();
  if (!tensor) {
    set_cause(refused.get());
  } else if (copies) {
    tensor.get_versioned()->flags |= flag_is_copied;
  }
  return tensor;
}
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
