// array_method, array_of_producer, buffer_of_producer: __array__ and the buffer of a Tensor, and of
// any object with __dlpack__.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/builder.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/detail/formats.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/parsing.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/export/buffer.hpp>
#include <dlbridge/python/import/consume.hpp>
#include <dlbridge/python/import/request.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/shared.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {
// Py_bf_getbuffer and Py_bf_releasebuffer of Tensor.
inline int get_buffer(PyObject* self, Py_buffer* out, int flags) noexcept {
#if defined(Py_GIL_DISABLED)  // several threads may request a buffer at the same time
  buffer_dims* const dims = nullptr;
#else
  buffer_dims* const dims = &tensor_in(self).exported_dims;
#endif
  if (fill_buffer(self, tensor_in(self).view, dims, out, flags) != 0) {
    return -1;
  }
  if (!wait_until_ready(tensor_in(self))) {
    error_keeper const pending;
    api<PyBuffer_Release>(out);
    return -1;
  }
  return 0;
}
inline void free_buffer(PyObject*, Py_buffer* buffer) noexcept { release_buffer(buffer); }

// The type of the objects that export the memory of a producer as a buffer. The Tensor of an
// extension has no buffer, because torch.asarray reads an object with a buffer as bytes.
DLBRIDGE_LOCAL inline PyTypeObject* buffer_type() noexcept {
  static lazy_object type;
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(&destroy_tensor)},
                                {Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)},
                                {Py_bf_releasebuffer, reinterpret_cast<void*>(&free_buffer)},
                                {0, nullptr}};
  static PyType_Spec spec{"dlbridge.Buffer", static_cast<int>(sizeof(tensor_object)), 0,
                          Py_TPFLAGS_DEFAULT, slots};
  return reinterpret_cast<PyTypeObject*>(type.get([]() noexcept {
    ref made = ref::steal(api<PyType_FromSpec>(&spec));
    if (made) {
      reinterpret_cast<PyTypeObject*>(made.get())->tp_new = nullptr;  // no object without a tensor
    }
    return made;
  }));
}

// The same elements as unsigned integers of their size, for a dtype without a PEP 3118 format.
inline ref as_unsigned(PyObject* object) noexcept {
  tensor_object& self = tensor_in(object);
  description d = describe_view(self.view);
  d.type = dtype(kDLUInt, static_cast<int>(element_bytes(d.type) * 8));
  managed_tensor tensor;
  bool const done =
      wait_until_ready(self) && guarded([&] { tensor = build_on(shared_tensor(share(self)), d); });
  return done ? new_tensor(Py_TYPE(object), std::move(tensor)) : ref();
}

// The dtype of ml_dtypes for a dtype that NumPy lacks. Empty, with BufferError set, if there is
// none.
inline ref dtype_of_ml_dtypes(tensor_view const& view) noexcept {
  ref const types = ref::steal(api<PyImport_ImportModule>("ml_dtypes"));
  ref type =
      types ? ref::steal(api<PyObject_GetAttrString>(types.get(), name_of(view.dtype()).c_str()))
            : ref();
  if (!type &&
      (PyErr_ExceptionMatches(PyExc_ImportError) || PyErr_ExceptionMatches(PyExc_AttributeError))) {
    set_error(refusal(errc::dtype_mismatch, "a dtype that NumPy or ml_dtypes has",
                      name_of(view).c_str(),
                      types ? "View it as another dtype, with dlbridge.from_dlpack(x).view(...), "
                              "or convert it first"
                            : "Install ml_dtypes, or convert it first"));
  }
  return type;
}

// A NumPy array on the memory of a Tensor. The dtypes that NumPy lacks, such as bfloat16, are those
// of ml_dtypes.
DLBRIDGE_COLD inline ref to_numpy(PyObject* object, PyObject* numpy) noexcept {
  tensor_view const& view = tensor_in(object).view;
  if (find_format(view.dtype()) != nullptr || !is_host_accessible(view.device())) {
    ref const memory = ref::steal(api<PyMemoryView_FromObject>(object));
    return memory ? ref::steal(api<PyObject_CallMethod>(numpy, "asarray", "O", memory.get()))
                  : ref();
  }
  if (is_sub_byte(view.dtype()) && !view.is_padded()) {
    report r = refusal(errc::dtype_mismatch, "elements of whole bytes", name_of(view).c_str(),
                       "NumPy has no packed dtypes; unpack it first");
    r.got.append(", packed");
    set_error(r);
    return ref();
  }
  ref const type = dtype_of_ml_dtypes(view);
  ref const plain = type ? as_unsigned(object) : ref();
  ref const array = plain ? to_numpy(plain.get(), numpy) : ref();
  return array ? ref::steal(api<PyObject_CallMethod>(array.get(), "view", "O", type.get())) : ref();
}

// __array__(dtype=None, copy=None) of a Tensor. It refuses copy=False where the dtype changes;
// numpy.array takes that as a wish before NumPy 2.
DLBRIDGE_COLD inline PyObject* array_method(PyObject* object, PyObject* arguments,
                                            PyObject* keywords) noexcept {
  char const* accepted[] = {"dtype", "copy", nullptr};
  PyObject* type = Py_None;
  PyObject* copy = Py_None;
  if (!api<PyArg_ParseTupleAndKeywords>(arguments, keywords, "|OO:__array__",
                                        const_cast<char**>(accepted), &type, &copy)) {
    return nullptr;
  }
  int const copies = api<PyObject_IsTrue>(copy);
  ref const numpy = copies >= 0 ? ref::steal(api<PyImport_ImportModule>("numpy")) : ref();
  ref const array = numpy ? to_numpy(object, numpy.get()) : ref();
  ref result = array ? ref::steal(api<PyObject_CallMethod>(
                           numpy.get(), copies ? "array" : "asarray", "OO", array.get(), type))
                     : ref();
  if (result && copy != Py_None && copies == 0) {
    ref const base = ref::steal(api<PyObject_GetAttrString>(result.get(), "base"));
    if (base.get() == Py_None) {  // an array on the memory of the Tensor has a base
      set_error(refusal(errc::copy_forbidden, "no copy", "one to another dtype",
                        "Leave copy= out if a copy is acceptable"));
    }
    return base && base.get() != Py_None ? result.release() : nullptr;
  }
  return result.release();
}

// A buffer on the memory of an object with __dlpack__, for which the host has waited. BufferError
// where the CPU cannot read the memory.
DLBRIDGE_COLD inline ref host_buffer_of(PyObject* object) noexcept {
  ref const pair = ref::steal(api<PyObject_CallMethodNoArgs>(object, names::get().dlpack_device));
  consume_request request;
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
  PyTypeObject* const type = buffer_type();
  managed_tensor tensor = type != nullptr ? consume(object, request) : managed_tensor();
  return tensor ? new_tensor(type, std::move(tensor)) : ref();
}

// __array__(dtype=None, copy=None) of an object with __dlpack__. It raises TypeError in place of
// BufferError, as arrays on devices do in other libraries.
DLBRIDGE_COLD inline PyObject* array_of_producer(PyObject* object, PyObject* arguments,
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

// __iter__ of an object with __dlpack__: the rows of its array, or what its __getitem__ gives.
// pandas takes an object without it for one element.
DLBRIDGE_COLD inline PyObject* iterate_producer(PyObject* object) noexcept {
  if (PySequence_Check(object) != 0) {
    return api<PySeqIter_New>(object);
  }
  ref const none = ref::steal(api<PyTuple_New>(0));
  ref const array = none ? ref::steal(array_of_producer(object, none.get(), nullptr)) : ref();
  return array ? api<PyObject_GetIter>(array.get()) : nullptr;
}

// Py_bf_getbuffer of a class with __dlpack__.
DLBRIDGE_COLD inline int buffer_of_producer(PyObject* object, Py_buffer* out, int flags) noexcept {
  out->obj = nullptr;
  ref const buffer = host_buffer_of(object);
  return buffer ? api<PyObject_GetBuffer>(buffer.get(), out, flags) : -1;
}
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
