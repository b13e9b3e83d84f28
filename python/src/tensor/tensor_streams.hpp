// synchronize, record_stream, __cuda_stream__: give Python code the stream on which the elements of
// a Tensor are ready, wait for it, and keep the memory for another one.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/detail/read_stream.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/gil.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/tensor_view.hpp>

#include "core.hpp"
#include "docstrings.hpp"
#include "sycl_queues.hpp"
#include "tensor/tensor_attributes.hpp"

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
// The object that owns the stream which stream= names, or null. Of a Tensor, that is the owner of
// its stream: memory that kept the Tensor itself could be the memory that the Tensor keeps.
DLBRIDGE_COLD inline PyObject* stream_owner(PyObject* named) noexcept {
  PyObject* const object = stream_object_in(named);
  return object != nullptr && is_tensor(object) ? tensor_in(object).stream_object : object;
}

// Sets the stream on which the elements of a new Tensor are ready, and records it for the memory.
// named: the stream= argument of the caller, or null.
DLBRIDGE_COLD inline void be_ready_on(tensor_object& self, stream_ref const& ready,
                                      PyObject* named) noexcept {
  PyObject* const owner = stream_owner(named);
  set_ready(self, ready, owner);
  record_lasting_stream(owning_tensor(self), ready, owner);
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

namespace core DLBRIDGE_LOCAL {
// synchronize()
inline ref synchronize(PyObject* object, PyObject*) {
  ref const kept = ref::borrow(object);  // another thread may drop the Tensor meanwhile
  tensor_object const& self = tensor_in(object);
  require(!has_queues(self.view.device()) || wait_for_queue(self.stream_object));
  require(self.stream.is_none() ||
          succeeded(python::try_host_wait(self.ready_on()), "synchronize"));
  return ref::borrow(Py_None);
}

// record_stream(stream)
DLBRIDGE_COLD inline ref record_stream(PyObject* object, PyObject* stream) {
  tensor_object& self = tensor_in(object);
  device const where = stream_device(self.view.device());
  stream_ref used = stream_ref::default_of(where);
  std::int64_t value = 0;
  require(choose_stream(stream, where, used, &value));
  if (value == -1) {
    fail(refusal(errc::bad_stream, "a stream", "-1, which names none"), "record_stream");
  }
  auto* const operation = device_operations::get().record_stream;
  bool is_recorded = false;
  {
    critical_section const section(object);
    is_recorded =
        operation != nullptr && operation(owning_tensor(self), used, stream_owner(stream));
  }
  if (!is_recorded) {
    fail(refusal(errc::bad_argument, "memory of a device that dlbridge allocated",
                 "memory of another owner",
                 "Order the owner's stream after yours before you drop the tensor, or "
                 "use the record_stream of its library"),
         "record_stream");
  }
  return ref::borrow(Py_None);
}

// __cuda_stream__(), the protocol of cuda.core for objects with a stream: (version, handle)
inline ref version_and_handle(PyObject* object, PyObject*) {
  std::int64_t const handle = protocol_stream(tensor_in(object).ready_on());
  return checked(api<Py_BuildValue>("(iL)", 0, static_cast<long long>(handle)));
}
DLBRIDGE_LOCAL inline ref cuda_stream(PyObject* self, void*) {
  static PyMethodDef definition = {"__cuda_stream__", &entry<&version_and_handle>::call,
                                   METH_NOARGS, doc_of("__cuda_stream__", "Tensor.")};
  tensor_view const& view = tensor_in(self).view;
  if (runtime_of(view.device()) != runtime_kind::cuda) {
    lacks_attribute(view, "__cuda_stream__");
  }
  return checked(api<PyCFunction_NewEx>(&definition, self, nullptr));
}
}  // namespace core DLBRIDGE_LOCAL
