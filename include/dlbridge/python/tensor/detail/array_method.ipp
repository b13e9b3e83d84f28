// The bodies of array_method.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/build.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/detail/formats.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/tensor/detail/array_method.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/shared_tensor.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
DLBRIDGE_API int get_buffer(PyObject* self, Py_buffer* out, int flags) noexcept {
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

DLBRIDGE_API ref dtype_of_ml_dtypes(tensor_view const& view) noexcept {
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

DLBRIDGE_NOINLINE DLBRIDGE_API ref to_numpy(PyObject* object, PyObject* numpy) noexcept {
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

DLBRIDGE_NOINLINE DLBRIDGE_API PyObject* array_method(PyObject* object, PyObject* arguments,
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
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
