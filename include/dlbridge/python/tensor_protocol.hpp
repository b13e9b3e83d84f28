// The two methods that every Tensor has, also the plain one of an extension: the DLPack protocol.
// floor 10 · OUT: from a Tensor to a capsule
#pragma once

#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interp.hpp>
#include <dlbridge/python/produce.hpp>
#include <dlbridge/python/tensor_object.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
inline PyObject* dlpack_method(PyObject* object, PyObject* const* args, Py_ssize_t count,
                               PyObject* keywords) noexcept {
  tensor_object& self = tensor_in(object);
  export_request request;
  if (!read_export_request(args, count, keywords, self.view.device(), request)) {
    return nullptr;
  }
  ref capsule;
  guarded([&] { capsule = produce(share(self), self.view, request); });
  return capsule.release();
}

inline PyObject* dlpack_device_method(PyObject* self, PyObject*) noexcept {
  return device_pair(tensor_in(self).view.device()).release();
}

template <class Function>
PyCFunction method(Function* function) noexcept {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

inline PyMethodDef dlpack_row() noexcept {
  return {
      "__dlpack__", method(&dlpack_method), METH_FASTCALL | METH_KEYWORDS,
      "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
      "A capsule with this tensor (array API 2023.12): legacy without max_version or below (1, 0),"
      " versioned from there on.\n\nThe capsule keeps the memory alive on its own. Raises "
      "BufferError when the tensor cannot be exported as asked: read-only memory as legacy, a "
      "device it is not on, or copy=False with a copy needed; ValueError for a bad value, "
      "TypeError for an unknown keyword."};
}
inline PyMethodDef dlpack_device_row() noexcept {
  return {"__dlpack_device__", method(&dlpack_device_method), METH_NOARGS,
          "__dlpack_device__($self, /)\n--\n\nThe device as (device type, device id), both int."};
}
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
