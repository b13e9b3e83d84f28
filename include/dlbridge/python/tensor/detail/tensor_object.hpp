// tensor_object: defines the object of a Tensor, its creation, sharing and destruction.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/detail/tensor_head.hpp>
#include <dlbridge/python/export/buffer.hpp>
#include <dlbridge/python/import/detail/ndarray.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/shared_tensor.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// A Tensor. Its description does not change, whatever the producer does to its own; its elements
/// may.
/// @par Thread and GIL
/// Every function on a Tensor requires the GIL.
struct tensor_object : detail::tensor_head {
  managed_tensor owned;  // the owner until the first export, unless array is
  shared_tensor shared;  // the owner from then on, as exports may outlive the object
  PyObject*
      stream_object;  // the owner of the stream's handle or, on oneAPI, the queue; a held reference
  PyObject* array;    // the ndarray whose fields view describes, a held reference; or null
  detail::copied_dims dims;   // the shape and the strides of view until the first export
  buffer_dims exported_dims;  // of the buffers

  stream_ref ready_on() const noexcept;
};

inline tensor_object& tensor_in(PyObject* object) noexcept {
  return *reinterpret_cast<tensor_object*>(object);
}

/// A new object on the memory of another object, whose owner it shares.
/// @param view its shape and strides are valid as long as the owner.
/// @return the object; empty, with MemoryError set, when there is no memory for it; the share is
///   then freed.
ref new_tensor(PyTypeObject* type, tensor_view const& view, shared_tensor shared) noexcept;
/// A new object on the memory of an ndarray, to which it holds a reference. It copies the fields of
/// the array, and has no managed tensor until the first export.
/// @pre can_read_ndarrays of the array's type returned true.
/// @return the object; empty, without an exception, where `__dlpack__` is to be called.
ref new_tensor_on_array(PyTypeObject* type, PyObject* array) noexcept;
namespace detail {
// Copies the shape and the strides of the view of an object into the object.
// @pre can_copy_dims returned true.
void copy_dims(tensor_object& self) noexcept;
}  // namespace detail

/// A new object on the memory of m, which the object then owns, with copies of its shape and
/// strides.
/// @pre m is not empty.
/// @return the object; empty, with MemoryError set, when there is no memory; the caller then still
///   owns m.
ref try_new_tensor(PyTypeObject* type, managed_tensor& m) noexcept;
/// The same, which frees m when there is no memory.
ref new_tensor(PyTypeObject* type, managed_tensor m) noexcept;

/// Sets the stream on which the elements are ready.
/// @param owner the object that owns the stream, to which the Tensor then holds a reference; or
///   null.
void set_ready(tensor_object& self, stream_ref const& ready, PyObject* owner) noexcept;

/// The same on oneAPI, where a stream is a queue.
void set_queue(tensor_object& self, ref queue) noexcept;

/// Makes the host wait until the elements are ready. Code that reads elements on the host calls it
/// first: a device may still write to managed memory.
/// @pre the CPU can access the memory.
/// @return false, with a Python exception set as by host_wait, on failure.
/// @par Thread and GIL
/// The caller holds the GIL, which is released while the host waits.
bool wait_until_ready(tensor_object const& self) noexcept;

/// Makes the owner of the memory a shared one, and returns it. An export holds a share, which is
/// freed without Python. The shape and the strides of the view are then valid as long as the owner.
/// @throws error out_of_memory; the Tensor is then unchanged.
shared_tensor const& share(tensor_object& self);

/// The same with a Python exception in place of the C++ one.
/// @return null, with MemoryError set, when there is no memory.
shared_tensor const* try_share(tensor_object& self) noexcept;

/// The tensor that owns the memory; empty while that is an ndarray.
/// @pre the caller is in a critical section of the object.
managed_tensor const& owning_tensor(tensor_object const& self) noexcept;

/// Reads the version of the producer's struct.
/// @return false for a legacy struct, which has none.
bool read_producer_version(tensor_object& self, version& out) noexcept;

/// Implements tp_dealloc. The pending exception is put aside while a foreign deleter runs.
void destroy_tensor(PyObject* object) noexcept;
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/tensor/detail/tensor_object.ipp>
#endif
