// The bodies of tensor_type.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <utility>

#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/lend.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/read_device.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/export/produce.hpp>
#include <dlbridge/python/export/type_exchange_table.hpp>
#include <dlbridge/python/gil.hpp>
#include <dlbridge/python/import/import_request.hpp>
#include <dlbridge/python/import/import_tensor.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/tensor/detail/array_method.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>
#include <dlbridge/shared_tensor.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
[[noreturn]] DLBRIDGE_COLD void refuse_other_type(PyObject* object);

DLBRIDGE_LOCAL PyTypeObject* make_tensor_type() noexcept;

// Sets the exception of an empty owner, unless one is pending.
DLBRIDGE_COLD ref refuse_empty_owner() noexcept;

inline PyObject* dlpack_method(PyObject* object, PyObject* const* args, Py_ssize_t count,
                               PyObject* keywords) noexcept {
  tensor_object& self = tensor_in(object);
  export_request request;
  if (!read_export_request(args, count, keywords, self.view.device(), request) ||
      (request.queue != nullptr &&
       !device_operations::get().order_queues(request.queue, self.stream_object))) {
    return nullptr;
  }
  shared_tensor const* const owner = try_share(self);
  return owner != nullptr ? produce(*owner, self.view, self.ready_on(), request).release()
                          : nullptr;
}

inline PyObject* dlpack_device_method(PyObject* self, PyObject*) noexcept {
  return device_pair(tensor_in(self).view.device()).release();
}

DLBRIDGE_API PyMethodDef dlpack_row() noexcept {
  return {
      "__dlpack__", method(&dlpack_method), METH_FASTCALL | METH_KEYWORDS,
      "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
      "Return a capsule with this tensor, as the array API 2023.12 specifies."};
}

DLBRIDGE_API PyMethodDef dlpack_device_row() noexcept {
  return {"__dlpack_device__", method(&dlpack_device_method), METH_NOARGS,
          "__dlpack_device__($self, /)\n--\n\n"
          "Return the device as a pair (device type, device id) of int."};
}

#if DLBRIDGE_DLPACK_AT_LEAST(2)

DLBRIDGE_NOINLINE DLBRIDGE_API void refuse_other_type(PyObject* object) {
  raise(refusal(errc::not_a_producer, "a Tensor", detail::type_name(Py_TYPE(object)).c_str()));
}

#endif

// A buffer on the memory of an object with __dlpack__, for which the host has waited. BufferError
// where the CPU cannot read the memory.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline ref host_buffer_of(PyObject* object) noexcept {
  ref const pair = ref::steal(api<detail::call_named>(object, names::get().dlpack_device));
  import_request request;
  if (!pair || !read_device_pair(pair.get(), "__dlpack_device__()", request.target)) {
    return ref();
  }
  device const where = request.target;
  if (!is_host_accessible(where)) {
    set_error(refusal(errc::device_mismatch, "memory that the CPU can read", name_of(where).c_str(),
                      runtime_of_memory(where) != runtime_kind::none
                          ? "Copy it first, with dlbridge.from_dlpack(x, device='cpu') or, from "
                            "NumPy 2.1 on, numpy.from_dlpack(x, device='cpu')"
                          : "Copy it to the CPU first, with its own library"));
    return ref();
  }
  if (where != cpu) {
    request.has_target = true;
    request.target = cpu;
    request.copy = copy_policy::never;
  }
  PyTypeObject* const type = tensor_type();
  managed_tensor tensor = type != nullptr ? import_tensor(object, request) : managed_tensor();
  return tensor ? new_tensor(type, std::move(tensor)) : ref();
}

DLBRIDGE_NOINLINE DLBRIDGE_API PyObject* array_of_producer(PyObject* object, PyObject* arguments,
                                                           PyObject* keywords) noexcept {
  ref const buffer = host_buffer_of(object);
  PyObject* const array = buffer ? array_method(buffer.get(), arguments, keywords) : nullptr;
  if (array == nullptr && PyErr_ExceptionMatches(PyExc_BufferError) &&
      !PyErr_ExceptionMatches(PyExc_ValueError)) {  // no CopyForbiddenError
    ref const why = take_exception();
    api<PyErr_Format>(PyExc_TypeError, "__array__(): %S", why.get());
    set_cause(why.get());
  }
  return array;
}

DLBRIDGE_NOINLINE DLBRIDGE_API PyObject* iterate_producer(PyObject* object) noexcept {
  if (PySequence_Check(object) != 0) {
    return api<PySeqIter_New>(object);
  }
  ref const none = ref::steal(api<PyTuple_New>(0));
  ref const array = none ? ref::steal(array_of_producer(object, none.get(), nullptr)) : ref();
  return array ? api<PyObject_GetIter>(array.get()) : nullptr;
}

DLBRIDGE_NOINLINE DLBRIDGE_API int buffer_of_producer(PyObject* object, Py_buffer* out,
                                                      int flags) noexcept {
  out->obj = nullptr;
  ref const buffer = host_buffer_of(object);
  return buffer ? api<PyObject_GetBuffer>(buffer.get(), out, flags) : -1;
}

// <dlbridge.PlainTensor float32[2, 3] on cpu>
inline PyObject* show_short(PyObject* self) noexcept {
  return api<PyUnicode_FromFormat>("<%s %s>", detail::type_name(Py_TYPE(self)).c_str(),
                                   name_of(tensor_in(self).view).c_str());
}

DLBRIDGE_API PyObject* refuse_new(PyTypeObject*, PyObject*, PyObject*) noexcept {
  set_error_text(PyExc_TypeError,
                 "Tensor has no constructor; use dlbridge.from_dlpack(x) or "
                 "dlbridge.as_tensor(x)");
  return nullptr;
}

// bool(t), which would be True for every tensor otherwise.
inline int refuse_truth(PyObject*) noexcept {
  set_error_text(PyExc_TypeError,
                 "the tensor has no truth value; test it with its library, such as "
                 "np.from_dlpack(t).any()");
  return -1;
}

// The members that consumers of a Tensor call. Every extension compiles them, so they are few.
DLBRIDGE_LOCAL DLBRIDGE_API PyType_Slot* plain_tensor_slots() noexcept {
  static PyMethodDef methods[] = {
      dlpack_row(),
      dlpack_device_row(),
      {"__array__", method(&array_of_producer), METH_VARARGS | METH_KEYWORDS,
       "__array__($self, /, dtype=None, copy=None)\n--\n\n"
       "Return a NumPy array on the same memory."},
      {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("A tensor for any DLPack consumer: np.from_dlpack(t), "
                                    "torch.from_dlpack(t), np.asarray(t).")},
      {Py_tp_new, reinterpret_cast<void*>(&refuse_new)},
      {Py_tp_dealloc, reinterpret_cast<void*>(&destroy_tensor)},
      {Py_tp_repr, reinterpret_cast<void*>(&show_short)},
      {Py_nb_bool, reinterpret_cast<void*>(&refuse_truth)},
      {Py_tp_methods, methods},
      {Py_tp_iter, reinterpret_cast<void*>(&iterate_producer)},
      {Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)},
      {Py_bf_releasebuffer, reinterpret_cast<void*>(&free_buffer)},
      weak_references_slot(offsetof(tensor_head, weak_references)),
      {0, nullptr}};
  return slots;
}

DLBRIDGE_API tensor_row& tensor_type_row() noexcept {
  static tensor_row row{"dlbridge.PlainTensor", plain_tensor_slots()};
  return row;
}

DLBRIDGE_API PyTypeObject* make_tensor_type() noexcept {
  tensor_row const row = tensor_type_row();
  PyType_Spec spec{row.name, static_cast<int>(sizeof(tensor_object)), 0, Py_TPFLAGS_DEFAULT,
                   row.slots};
  auto* const type = reinterpret_cast<PyTypeObject*>(api<PyType_FromSpec>(&spec));
  if (type != nullptr) {
    set_weak_references(type, offsetof(tensor_head, weak_references));
  }
  return type;
}

DLBRIDGE_NOINLINE DLBRIDGE_API ref refuse_empty_owner() noexcept {
  if (PyErr_Occurred() == nullptr) {
    set_error(dlbridge::detail::empty_owner());
  }
  return ref();
}
}  // namespace python::detail

namespace python {
namespace detail {
#if DLBRIDGE_DLPACK_AT_LEAST(2)

// The Operations of Tensor's exchange table.
struct tensor_operations {
  static managed_tensor export_tensor(PyObject* object) {
    tensor_object& self = prepare(object);
    return dlbridge::lend(share(self), self.view, struct_kind::versioned);
  }

  static void lend(PyObject* object, DLTensor& out) {
    tensor_object& self = prepare(object);
    if ((self.view.flags() & not_lent) != 0) {
      refuse_lending(self.view.flags());
    }
    if (self.view.strides() == nullptr && self.view.rank() != 0) {
      share(self);  // the owner then has the explicit strides that DLPack 1.2 requires
    }
    out = self.view.to_dltensor();
  }

  static PyObject* give_tensor(managed_tensor& m) noexcept {
    PyTypeObject* const type = tensor_type();
    return type != nullptr ? try_new_tensor(type, m).release() : nullptr;
  }

 private:
  // The slots do no ordering; the consumer orders its work after the stream that
  // current_work_stream returns, the default one, so that one is ordered after the tensor's
  // (spec 5.3).
  DLBRIDGE_INLINE static tensor_object& prepare(PyObject* object) {
    if (Py_TYPE(object) != tensor_type()) {  // the consumer breaks the condition of the slot
      refuse_other_type(object);
    }
    tensor_object& self = tensor_in(object);
    if (self.view.device().type != kDLCPU) {
      order_consumer(object);
    }
    return self;
  }
  DLBRIDGE_NOINLINE static void order_consumer(PyObject* object) {
    tensor_object const& self = tensor_in(object);
    if (self.stream.is_none()) {
      return;
    }
    stream_ref const ready = self.ready_on();
    if (is_host_accessible(self.view.device())) {  // the consumer may be a library of the CPU
      python::host_wait(ready);
      return;
    }
    stream_ref const used = stream_ref::default_of(ready.device());
    python::order_after(used, ready);
    critical_section const section(object);
    record_lasting_stream(owning_tensor(self), used);
  }
};

#endif

// Creates the type, with what other libraries read of it.
DLBRIDGE_API ref create_tensor_type() noexcept {
  ref created = ref::steal(reinterpret_cast<PyObject*>(make_tensor_type()));
  auto* const type = reinterpret_cast<PyTypeObject*>(created.get());
  bool is_complete = created && names::prepare() && add_tensor_head(type);
#if DLBRIDGE_DLPACK_AT_LEAST(2)
  is_complete = is_complete && python::add_exchange_table<tensor_operations>(type);
#endif
  return is_complete ? std::move(created) : ref();
}
}  // namespace detail

DLBRIDGE_API ref wrap_tensor(managed_tensor m) noexcept {
  if (!m) {
    return detail::refuse_empty_owner();
  }
  PyTypeObject* const type = tensor_type();
  return type != nullptr ? new_tensor(type, std::move(m)) : ref();
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
