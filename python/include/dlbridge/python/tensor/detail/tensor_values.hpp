// item, tolist, tobytes, int, float, complex and index of a Tensor: read its elements on the host.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/detail/copy_plan.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/detail/core.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/detail/element_values.hpp>
#include <dlbridge/python/tensor/detail/long_copy.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/python/tensor/detail/tensor_views.hpp>
#include <dlbridge/view.hpp>

namespace core DLBRIDGE_LOCAL {
// The remedy for memory that the CPU cannot read: dlbridge copies that of CUDA and ROCm only.
inline char const* advice_to_copy(tensor_view const& view, char const* by_copy) noexcept {
  return runtime_of_memory(view.device()) != runtime_kind::none
             ? by_copy
             : "Copy it to the CPU first, with its own library";
}

// The remedy for a dtype whose elements Python code cannot read.
inline char const* advice_on_values(dtype type) noexcept {
  return type.lanes != 1 ? "view it as a dtype of one lane, with t.view(...)"
                         : "convert it with its library";
}

DLBRIDGE_COLD inline bool refuse_device(char const* function, tensor_view const& view) noexcept {
  set_error(refusal(errc::device_mismatch, "memory that the CPU can read", name_of(view).c_str(),
                    advice_to_copy(view, "Copy it first, with t.to('cpu')")),
            function);
  return false;
}

// Whether the host can read the elements as numbers, after it has waited for their stream.
// Otherwise sets BufferError for memory that the CPU cannot read, TypeError for another dtype, or
// as wait_until_ready.
inline bool prepare_values(char const* function, tensor_object const& self) noexcept {
  tensor_view const& view = self.view;
  if (!is_host_accessible(view.device())) {
    return refuse_device(function, view);
  }
  if (!has_value(view.dtype())) {
    api<PyErr_Format>(PyExc_TypeError,
                      "%s() expects a tensor of booleans, integers, floats or complex numbers, "
                      "not %s; %s",
                      function, name_of(view).c_str(), advice_on_values(view.dtype()));
    return false;
  }
  return wait_until_ready(self);
}

// The element at an offset, in elements, from the first one.
inline PyObject* value_at(tensor_view const& view, std::int64_t offset) noexcept {
  std::int64_t const position = offset * bits_per_element(view);
  std::int64_t const byte = position >= 0 ? position / 8 : -((7 - position) / 8);
  auto const* const memory = static_cast<unsigned char const*>(view.data());
  return element_value(memory + byte, static_cast<int>(position - byte * 8), view.dtype());
}

// The only element. Null, with ValueError set, for another number of elements, or as
// prepare_values.
inline PyObject* only_value(char const* function, PyObject* object) noexcept {
  ref const kept = ref::borrow(object);  // another thread may drop the Tensor during the wait
  tensor_object const& self = tensor_in(object);
  if (self.view.count() != 1) {
    api<PyErr_Format>(PyExc_ValueError, "%s() expects a tensor of one element, not %s", function,
                      name_of(self.view).c_str());
    return nullptr;
  }
  return prepare_values(function, self) ? value_at(self.view, 0) : nullptr;
}

inline PyObject* item_method(PyObject* object, PyObject*) noexcept {
  return only_value("item", object);
}

inline PyObject* tensor_to_float(PyObject* object) noexcept {
  ref const value = ref::steal(only_value("float", object));
  return value ? api<PyNumber_Float>(value.get()) : nullptr;
}

inline PyObject* tensor_to_int(PyObject* object) noexcept {
  ref const value = ref::steal(only_value("int", object));
  return value ? api<PyNumber_Long>(value.get()) : nullptr;
}

inline PyObject* complex_method(PyObject* object, PyObject*) noexcept {
  ref value = ref::steal(only_value("complex", object));
  if (!value || PyComplex_Check(value.get())) {
    return value.release();
  }
  double const real = api<PyFloat_AsDouble>(value.get());
  return real == -1.0 && PyErr_Occurred() != nullptr ? nullptr
                                                     : api<PyComplex_FromDoubles>(real, 0.0);
}

// __format__: formats the element of a 0-d tensor, as NumPy and PyTorch do. Without a format every
// tensor has the text of str.
inline PyObject* format_method(PyObject* object, PyObject* format) noexcept {
  if (!PyUnicode_Check(format)) {
    api<PyErr_Format>(PyExc_TypeError, "__format__() takes a str, not %.200s",
                      Py_TYPE(format)->tp_name);
    return nullptr;
  }
  if (PyUnicode_GET_LENGTH(format) == 0) {
    return api<PyObject_Str>(object);
  }
  tensor_view const& view = tensor_in(object).view;
  if (view.rank() != 0) {
    api<PyErr_Format>(PyExc_TypeError,
                      "a format such as %R applies to a 0-d tensor, not to %s; format the values "
                      "of t.tolist()",
                      format, name_of(view).c_str());
    return nullptr;
  }
  ref const value = ref::steal(only_value("format", object));
  return value ? api<PyObject_Format>(value.get(), format) : nullptr;
}

// nb_index: only a 0-d tensor of integers is an index, as in NumPy.
inline PyObject* tensor_to_index(PyObject* object) noexcept {
  tensor_view const& view = tensor_in(object).view;
  bool const is_integer = view.dtype().code == kDLInt || view.dtype().code == kDLUInt;
  if (!is_integer || view.rank() != 0) {
    api<PyErr_Format>(PyExc_TypeError, "only a 0-d tensor of an integer dtype is an index, not %s",
                      name_of(view).c_str());
    return nullptr;
  }
  return only_value("index", object);
}

// nb_bool: the truth of the one element, as in the array API.
inline int tensor_truth(PyObject* object) noexcept {
  tensor_view const& view = tensor_in(object).view;
  if (view.count() != 1) {
    api<PyErr_Format>(
        PyExc_ValueError,
        "bool() expects a tensor of one element, not %s: a tensor of %s elements has no truth "
        "value; test it with its library, such as np.from_dlpack(t).any()",
        name_of(view).c_str(), view.empty() ? "no" : "several");
    return -1;
  }
  ref const value = ref::steal(only_value("bool", object));
  return value ? api<PyObject_IsTrue>(value.get()) : -1;
}

// The elements from a dimension on as nested lists; the element itself after the last dimension.
inline ref nested_list(tensor_view const& view, int dimension, std::int64_t offset) noexcept {
  if (dimension == view.rank()) {
    return ref::steal(value_at(view, offset));
  }
  std::int64_t const extent = view.extent(dimension);
  if (extent > PY_SSIZE_T_MAX) {
    api<PyErr_NoMemory>();
    return ref();
  }
  ref list = ref::steal(api<PyList_New>(static_cast<Py_ssize_t>(extent)));
  std::int64_t const stride = view.stride(dimension);
  for (std::int64_t i = 0; list && i < extent; ++i) {
    ref item = nested_list(view, dimension + 1, offset + wrapping_product(i, stride));
    if (!item) {
      return ref();
    }
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), item.release());
  }
  return list;
}

DLBRIDGE_COLD inline PyObject* tolist_method(PyObject* object, PyObject*) noexcept {
  ref const kept = ref::borrow(object);
  tensor_object const& self = tensor_in(object);
  tensor_view const& view = self.view;
  return prepare_values("tolist", self) ? nested_list(view, 0, 0).release() : nullptr;
}

// tobytes(): the elements in row-major order.
DLBRIDGE_COLD inline PyObject* tobytes_method(PyObject* object, PyObject*) noexcept {
  ref const kept = ref::borrow(object);
  tensor_object const& self = tensor_in(object);
  if (!is_host_accessible(self.view.device())) {
    refuse_device("tobytes", self.view);
    return nullptr;
  }
  if (!wait_until_ready(self)) {
    return nullptr;
  }
  tensor_view const& view = self.view;
  std::int64_t const bytes = bytes_for(view.count(), view.dtype(), view.is_padded());
  ref result = ref::steal(api<PyBytes_FromStringAndSize>(nullptr, static_cast<Py_ssize_t>(bytes)));
  if (result && bytes != 0) {
    char* const first = PyBytes_AS_STRING(result.get());
    first[bytes - 1] = 0;  // the bits after the last packed element
    long_copy const copy(view);
    DLTensor compact = copy.source().to_dltensor();
    compact.data = first;
    compact.byte_offset = 0;
    compact.strides = nullptr;
    dlbridge::detail::copy_disjoint(copy.source(),
                                    tensor_view(compact, view.flags() & flag_padded));
  }
  return result.release();
}
}  // namespace core DLBRIDGE_LOCAL
