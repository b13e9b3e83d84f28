// tensor_methods: defines the methods of the package's Tensor: DLPack, __array__ and pickling.
// layer: tensor · methods in Python
#pragma once

#include <cstdint>
#include <utility>

#include <dlbridge/builder.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/python/detail/formats.hpp>
#include <dlbridge/python/detail/parsing.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/python/tensor/detail/tensor_streams.hpp>
#include <dlbridge/python/tensor/tensor_type.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {
namespace detail {
// Another Tensor on the same memory under another description. The elements are ready on the same
// stream if the device is the same.
inline ref retyped(PyObject* object, description const& d) noexcept {
  tensor_object& self = tensor_in(object);
  managed_tensor tensor;
  bool const done = guarded([&] { tensor = build_on(shared_tensor(share(self)), d); });
  ref result = done ? new_tensor(Py_TYPE(object), std::move(tensor)) : ref();
  if (result && d.device == self.view.device()) {
    set_ready(tensor_in(result.get()), self.ready_on(), self.stream_object);
  }
  return result;
}

// The same elements as unsigned integers of their size, for a dtype without a PEP 3118 format.
inline ref as_unsigned(PyObject* object) noexcept {
  description d = describe_view(tensor_in(object).view);
  d.type = dtype(kDLUInt, static_cast<int>(element_bytes(d.type) * 8));
  return retyped(object, d);
}

// A NumPy array on the tensor's memory. The dtypes that NumPy lacks, such as bfloat16, are those of
// ml_dtypes.
inline ref to_numpy(PyObject* object, PyObject* numpy) noexcept {
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
  ref const types = ref::steal(api<PyImport_ImportModule>("ml_dtypes"));
  ref const type =
      types ? ref::steal(api<PyObject_GetAttrString>(types.get(), name_of(view.dtype()).c_str()))
            : ref();
  if (!type &&
      (PyErr_ExceptionMatches(PyExc_ImportError) || PyErr_ExceptionMatches(PyExc_AttributeError))) {
    set_error(refusal(errc::dtype_mismatch, "a dtype that NumPy or ml_dtypes has",
                      name_of(view).c_str(), "Install ml_dtypes, or convert it first"));
  }
  if (!type) {
    return ref();
  }
  ref const plain = as_unsigned(object);
  ref const array = plain ? to_numpy(plain.get(), numpy) : ref();
  return array ? ref::steal(api<PyObject_CallMethod>(array.get(), "view", "O", type.get())) : ref();
}

// __array__(dtype=None, copy=None), which np.asarray calls when the buffer protocol fails.
inline PyObject* array_method(PyObject* object, PyObject* arguments, PyObject* keywords) noexcept {
  char const* accepted[] = {"dtype", "copy", nullptr};
  PyObject* type = Py_None;
  PyObject* copy = Py_None;
  if (!api<PyArg_ParseTupleAndKeywords>(arguments, keywords, "|OO:__array__",
                                        const_cast<char**>(accepted), &type, &copy)) {
    return nullptr;
  }
  ref const numpy = ref::steal(api<PyImport_ImportModule>("numpy"));
  ref array = numpy ? to_numpy(object, numpy.get()) : ref();
  if (!array || (type == Py_None && copy == Py_None)) {
    return array.release();
  }
  ref const positional = ref::steal(api<PyTuple_Pack>(1, array.get()));
  ref const named = copy == Py_None
                        ? ref::steal(api<Py_BuildValue>("{s:O}", "dtype", type))
                        : ref::steal(api<Py_BuildValue>("{s:O,s:O}", "dtype", type, "copy", copy));
  ref const function =
      ref::steal(api<PyObject_GetAttrString>(numpy.get(), copy == Py_None ? "asarray" : "array"));
  return positional && named && function
             ? api<PyObject_Call>(function.get(), positional.get(), named.get())
             : nullptr;
}

// The bytes of a compact tensor as a Tensor of uint8.
inline ref as_bytes(PyObject* object) noexcept {
  tensor_view const& view = tensor_in(object).view;
  description d;
  d.data = const_cast<void*>(view.data());
  d.type = dtype(kDLUInt, 8);
  d.shape = dims(bytes_for(view.count(), view.dtype(), view.is_padded()));
  d.flags = view.flags() & flag_read_only;
  return retyped(object, d);
}

// __reduce_ex__(protocol). From protocol 5 on the bytes are an out-of-band buffer, which is not
// copied; below, a bytes object. A tensor that is not compact is copied to a compact one first.
inline PyObject* reduce_method(PyObject* object, PyObject* argument) noexcept {
  long const protocol = api<PyLong_AsLong>(argument);
  if (protocol == -1 && PyErr_Occurred() != nullptr) {
    return nullptr;
  }
  tensor_view const& view = tensor_in(object).view;
  if (!is_host_accessible(view.device())) {
    api<PyErr_Format>(PyExc_TypeError,
                      "cannot pickle a tensor %s: the CPU cannot read its memory. Copy it first, "
                      "with from_dlpack(t, device='cpu')",
                      name_of(view).c_str());
    return nullptr;
  }
  if (!wait_until_ready(tensor_in(object))) {
    return nullptr;
  }
  ref compact = ref::borrow(object);
  bool const row_major = view.is_row_major();
  if (!row_major && !view.is_column_major()) {
    managed_tensor copy;
    if (!guarded([&] { copy = copy_of(view); })) {
      return nullptr;
    }
    compact = new_tensor(Py_TYPE(object), std::move(copy));
  }
  bool const column_major = !row_major && compact.get() == object;
  ref const bytes = compact ? as_bytes(compact.get()) : ref();
  ref const payload = !bytes          ? ref()
                      : protocol >= 5 ? ref::steal(api<PyPickleBuffer_FromObject>(bytes.get()))
                                      : ref::steal(api<PyBytes_FromObject>(bytes.get()));
  ref const module = payload ? ref::steal(api<PyImport_ImportModule>("dlbridge")) : ref();
  ref const rebuild =
      module ? ref::steal(api<PyObject_GetAttrString>(module.get(), "_rebuild")) : ref();
  ref const shape = rebuild ? ref::steal(api<PyObject_GetAttrString>(object, "shape")) : ref();
  return shape ? api<Py_BuildValue>("O(OsOsOK)", rebuild.get(), payload.get(),
                                    name_of(view.dtype()).c_str(), shape.get(),
                                    column_major ? "F" : "C", view.read_only() ? Py_True : Py_False,
                                    static_cast<unsigned long long>(view.flags() & flag_padded))
               : nullptr;
}
}  // namespace detail

/// The table for Py_tp_methods of the complete type.
DLBRIDGE_LOCAL inline PyMethodDef* tensor_methods() noexcept {
  static PyMethodDef table[] = {
      detail::dlpack_row(),
      detail::dlpack_device_row(),
      {"__array__", detail::method(&detail::array_method), METH_VARARGS | METH_KEYWORDS,
       "__array__($self, /, dtype=None, copy=None)\n--\n\n"
       "Return a NumPy array on the same memory.\n\n"
       "Parameters\n----------\n"
       "dtype : numpy.dtype, optional\n    The dtype to which the elements are converted.\n"
       "copy : bool, optional\n    As for numpy.array.\n\n"
       "Returns\n-------\nnumpy.ndarray\n\n"
       "Raises\n------\n"
       "BufferError\n"
       "    If the CPU cannot read the memory, or neither NumPy nor ml_dtypes has the dtype."},
      {"__reduce_ex__", detail::method(&detail::reduce_method), METH_O,
       "__reduce_ex__($self, protocol, /)\n--\n\n"
       "Support pickle for tensors in host memory.\n\n"
       "From protocol 5 on the bytes are an out-of-band buffer. The tensor is copied only if\n"
       "it is not compact.\n\n"
       "Raises\n------\nTypeError\n    If the CPU cannot read the memory."},
      {"synchronize", &detail::synchronize_method, METH_NOARGS,
       "synchronize($self, /)\n--\n\n"
       "Block this thread until the elements are ready.\n\n"
       "Waits for the work on the tensor's stream, with the GIL released. Returns at once for\n"
       "memory of the CPU. Buffers, __array__, bool() and pickling wait on their own.\n\n"
       "Raises\n------\nRuntimeError\n"
       "    If the stream is being captured, or the driver fails."},
      {"record_stream", &detail::record_stream_method, METH_O,
       "record_stream($self, stream, /)\n--\n\n"
       "Keep the memory until the work that is on a stream when it is dropped has completed.\n\n"
       "For a Tensor that from_dlpack(x, device=...) returned, and a stream on which the caller\n"
       "uses its elements.\n\n"
       "Parameters\n----------\n"
       "stream : int or object\n"
       "    As for from_dlpack. A stream that is given as an integer must exist as long as the\n"
       "    memory.\n\n"
       "Raises\n------\nValueError\n"
       "    If the memory belongs to another library, or stream has an invalid value."},
      {nullptr, nullptr, 0, nullptr}};
  return table;
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
