// Memory that is described by another protocol than DLPack: buffers, array interfaces of the host
// and of CUDA.
// floor 10 · IN: from Python objects that do not speak DLPack
#pragma once

#include <utility>

#include <dlbridge/builder.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/buffers.hpp>
#include <dlbridge/python/device_work.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interp.hpp>
#include <dlbridge/python/keywords.hpp>
#include <dlbridge/python/settle.hpp>
#include <dlbridge/stream.hpp>
#include <dlbridge/traits.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

namespace detail {
// Reads on which stream a __cuda_array_interface__ says that its elements are: none means that they
// are there already. The stream that the caller names, if any, is made to wait for it.
inline bool order_interface(PyObject* interface, device where, PyObject* named,
                            stream_ref& ready) noexcept {
  ref const theirs = ref::borrow(PyDict_GetItemWithError(interface, names::get().stream));
  stream_ref elements = stream_ref::default_of(where);
  return PyErr_Occurred() == nullptr && choose_stream(theirs.get(), where, elements) &&
         choose_stream(named, where, ready) && guarded([&] {
           if (named == Py_None) {
             ready = elements;
           } else if (theirs && theirs.get() != Py_None) {
             require_order(ready, elements);
           }
         });
}

// Memory of CUDA that is described by numba's interface, on the device that its driver says.
inline managed_tensor from_cuda_interface(PyObject* object, PyObject* interface, PyObject* named,
                                          stream_ref& ready) noexcept {
  managed_tensor taken = from_array_interface(object, interface, device(kDLCUDA, 0));
  device_work const& work = device_work::get();
  if (!taken) {
    return taken;
  }
  bool const done = guarded([&] {
    description d = describe(taken);
    d.device = work.located != nullptr ? work.located(taken.view()) : d.device;
    taken = build_on(std::move(taken), d);
  });
  if (!done || !order_interface(interface, taken.view().device(), named, ready)) {
    error_keeper const kept;
    taken.reset();
  }
  return taken;
}
}  // namespace detail

/// A tensor on the memory of an object that does not speak DLPack. named is the stream= of the
/// caller, or None; ready becomes the stream on which the elements are.
/// owns: the object, or its exported buffer. GIL: held.
/// fails: empty, with an exception: as from_buffer and from_array_interface; not_a_producer when it
/// speaks none of these; bad_stream; as try_order.
inline managed_tensor consume_other(PyObject* object, PyObject* named, stream_ref& ready) noexcept {
  ready = stream_ref::default_of(cpu);
  if (PyObject_CheckBuffer(object)) {
    return from_buffer(object);
  }
  names const& n = names::get();
  if (ref const interface = optional_attribute(object, n.array_interface)) {
    return from_array_interface(object, interface.get(), cpu);
  }
  if (PyErr_Occurred() != nullptr) {
    return managed_tensor();
  }
  if (ref const interface = optional_attribute(object, n.cuda_array_interface)) {
    return detail::from_cuda_interface(object, interface.get(), named, ready);
  }
  if (PyErr_Occurred() != nullptr) {
    return managed_tensor();
  }
  report r = refusal(errc::not_a_producer,
                     "an object with __dlpack__, the buffer protocol, __array_interface__ or "
                     "__cuda_array_interface__",
                     "one of type ");
  r.got.append(Py_TYPE(object)->tp_name);
  set_error(r);
  return managed_tensor();
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
