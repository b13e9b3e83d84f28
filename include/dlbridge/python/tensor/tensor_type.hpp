// tensor_type, wrap_tensor: create the Python type Tensor with the DLPack protocol, and its
// objects.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/lend.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/detail/sycl_queues.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/export/exchange_table.hpp>
#include <dlbridge/python/export/produce.hpp>
#include <dlbridge/python/import/detail/no_producer.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/detail/array_method.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/python/tensor/detail/tensor_truth.hpp>
#include <dlbridge/shared.hpp>
#include <dlbridge/stream.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

namespace detail {
inline PyObject* dlpack_method(PyObject* object, PyObject* const* args, Py_ssize_t count,
                               PyObject* keywords) noexcept {
  tensor_object& self = tensor_in(object);
  export_request request;
  request.takes_queue = true;
  if (!read_export_request(args, count, keywords, self.view.device(), request) ||
      (request.queue != nullptr && !order_queues(request.queue, self.stream_object))) {
    return nullptr;
  }
  shared_tensor const* const owner = try_share(self);
  return owner != nullptr ? produce(*owner, self.view, self.ready_on(), request).release()
                          : nullptr;
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
      "Return a capsule with this tensor, as the array API 2023.12 specifies.\n\n"
      "Parameters\n----------\n"
      "stream : int or object, optional\n"
      "    The stream of the consumer, which is ordered after the tensor's own. By default the\n"
      "    default stream of the device; -1 for no order.\n"
      "max_version : tuple of int, optional\n"
      "    The highest DLPack version that the consumer supports. The struct is versioned from\n"
      "    (1, 0) on, else legacy.\n"
      "dl_device : tuple of int, optional\n"
      "    The device of the result. By default the device of the tensor.\n"
      "copy : bool, optional\n"
      "    True for a copy, False to forbid one. By default only a change of device may copy.\n\n"
      "Returns\n-------\n"
      "capsule\n    A PyCapsule, which keeps the memory alive on its own.\n\n"
      "Raises\n------\n"
      "BufferError\n"
      "    If the tensor cannot be exported as requested: read-only memory as a legacy struct, or\n"
      "    a device to which it cannot be copied.\n"
      "CopyForbiddenError\n    If `copy` is False and a copy is required.\n"
      "ValueError\n    If an argument has an invalid value.\n"
      "TypeError\n    If a keyword is unknown.\n"
      "RuntimeError\n    If the driver of a device is missing or fails."};
}
inline PyMethodDef dlpack_device_row() noexcept {
  return {"__dlpack_device__", method(&dlpack_device_method), METH_NOARGS,
          "__dlpack_device__($self, /)\n--\n\n"
          "Return the device as a pair (device type, device id) of int."};
}
#if DLBRIDGE_DLPACK_AT_LEAST(2)
[[noreturn]] DLBRIDGE_COLD inline void refuse_other_type(PyObject* object) {
  raise(refusal(errc::not_a_producer, "a Tensor", Py_TYPE(object)->tp_name));
}

// The Operations of Tensor's exchange table. TensorType is tensor_type, which is defined below.
template <PyTypeObject* (*TensorType)() noexcept>
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

  static PyObject* import_tensor(managed_tensor& m) noexcept {
    PyTypeObject* const type = TensorType();
    return type != nullptr ? try_new_tensor(type, m).release() : nullptr;
  }

 private:
  // The slots do no ordering; the consumer orders its work after the stream that
  // current_work_stream returns, the default one, so that one is ordered after the tensor's
  // (spec 5.3).
  DLBRIDGE_INLINE static tensor_object& prepare(PyObject* object) {
    if (Py_TYPE(object) != TensorType()) {  // the consumer breaks the condition of the slot
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

// <dlbridge.PlainTensor float32[2, 3] on cpu>
inline PyObject* show_short(PyObject* self) noexcept {
  return api<PyUnicode_FromFormat>("<%s %s>", Py_TYPE(self)->tp_name,
                                   name_of(tensor_in(self).view).c_str());
}

inline PyObject* refuse_new(PyTypeObject*, PyObject*, PyObject*) noexcept {
  set_error_text(PyExc_TypeError,
                 "Tensor has no constructor; use dlbridge.from_dlpack(x) or "
                 "dlbridge.as_tensor(x)");
  return nullptr;
}

// == and !=. Python compares the identity, or asks the other object, as NumPy compares elements. It
// would find equal elements of numbers and of other arrays unequal, so that these are refused.
DLBRIDGE_COLD inline PyObject* compare_plainly(PyObject* self, PyObject* other, int test) noexcept {
  PyTypeObject* const type = Py_TYPE(other);
  bool const has_elements =
      PyNumber_Check(other) != 0 || is_list(other) || type_attribute(type, names::get().dlpack);
  if ((test != Py_EQ && test != Py_NE) || !has_elements || has_tensor_head(type) ||
      type_attribute(type, names::get().array_interface)) {
    Py_RETURN_NOTIMPLEMENTED;
  }
  return refuse_comparison(self, other, "compare an array, as numpy.from_dlpack(t) == x");
}

// The members that consumers of a Tensor call. Every extension compiles them, so they are few.
DLBRIDGE_LOCAL inline PyType_Slot* plain_tensor_slots() noexcept {
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
      {Py_nb_bool, reinterpret_cast<void*>(&truth_of_tensor)},
      {Py_tp_richcompare, reinterpret_cast<void*>(&compare_plainly)},
      {Py_tp_hash, reinterpret_cast<void*>(PyBaseObject_Type.tp_hash)},
      {Py_tp_methods, methods},
      {Py_tp_iter, reinterpret_cast<void*>(&iterate_producer)},
      {0, nullptr}};
  return slots;
}

// The name and the slots of the type: the plain ones, unless full_tensor_type has replaced them.
struct tensor_row {
  char const* name;
  PyType_Slot* slots;
};
DLBRIDGE_LOCAL inline tensor_row& tensor_type_row() noexcept {
  static tensor_row row{"dlbridge.PlainTensor", plain_tensor_slots()};
  return row;
}

DLBRIDGE_LOCAL inline PyTypeObject* make_tensor_type() noexcept {
  tensor_row const row = tensor_type_row();
  PyType_Spec spec{row.name, static_cast<int>(sizeof(tensor_object)), 0, Py_TPFLAGS_DEFAULT,
                   row.slots};
  auto* const type = reinterpret_cast<PyTypeObject*>(api<PyType_FromSpec>(&spec));
  if (type != nullptr) {
    type->tp_weaklistoffset = offsetof(tensor_head, weak_references);
  }
  return type;
}
}  // namespace detail

/// The type Tensor of this module, created on first use. Extensions have PlainTensor, with the
/// protocol methods and the exchange table; the package completes it (full_tensor_type.hpp).
/// @return a borrowed reference, valid for the life of the process; null, with an exception set,
///   when the type cannot be created.
/// @par Thread and GIL
/// The caller holds the GIL.
DLBRIDGE_LOCAL inline PyTypeObject* tensor_type() noexcept {
  static lazy_object type;
  PyObject* const object = type.get([]() noexcept {
    ref created = ref::steal(reinterpret_cast<PyObject*>(detail::make_tensor_type()));
    if (created && !(names::prepare() &&
                     detail::add_tensor_head(reinterpret_cast<PyTypeObject*>(created.get())))) {
      created = ref();
    }
#if DLBRIDGE_DLPACK_AT_LEAST(2)
    if (created && !add_exchange_table<detail::tensor_operations<&tensor_type>>(
                       reinterpret_cast<PyTypeObject*>(created.get()))) {
      created = ref();
    }
#endif
    return created;
  });
  return reinterpret_cast<PyTypeObject*>(object);
}

/// Whether an object is a Tensor of this module.
inline bool is_tensor(PyObject* object) noexcept { return Py_TYPE(object) == tensor_type(); }

namespace detail {
// Sets the exception of an empty owner, unless one is pending.
DLBRIDGE_COLD inline ref refuse_empty_owner() noexcept {
  if (PyErr_Occurred() == nullptr) {
    set_error(dlbridge::detail::empty_owner());
  }
  return ref();
}
}  // namespace detail

/// A new Tensor that owns m.
/// @return the Tensor; empty, with an exception set, when m is empty, for which an exception may be
///   pending, or when memory runs out, which frees m.
/// @par Thread and GIL
/// The caller holds the GIL.
inline ref wrap_tensor(managed_tensor m) noexcept {
  if (!m) {
    return detail::refuse_empty_owner();
  }
  PyTypeObject* const type = tensor_type();
  return type != nullptr ? new_tensor(type, std::move(m)) : ref();
}

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
