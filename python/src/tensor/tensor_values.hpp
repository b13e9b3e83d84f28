// item, tolist, tobytes, int, float, complex and index of a Tensor: read its elements on the host.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <new>

#include <dlbridge/abi.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/detail/copy_plan.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/tensor_view.hpp>

#include "core.hpp"
#include "tensor/element_values.hpp"
#include "tensor/long_copy.hpp"
#include "tensor/tensor_attributes.hpp"
#include "tensor/tensor_views.hpp"

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

[[noreturn]] DLBRIDGE_COLD inline void refuse_device(char const* function,
                                                     tensor_view const& view) {
  fail(refusal(errc::device_mismatch, "memory that the CPU can read", name_of(view).c_str(),
               advice_to_copy(view, "Copy it first, with t.to('cpu')")),
       function);
}

// Waits until the host can read the elements as numbers. Throws with BufferError set for memory
// that the CPU cannot read, with TypeError for another dtype, or as wait_until_ready.
inline void prepare_values(char const* function, tensor_object const& self) {
  tensor_view const& view = self.view;
  if (!is_host_accessible(view.device())) {
    refuse_device(function, view);
  }
  if (!has_value(view.dtype())) {
    fail(PyExc_TypeError,
         "%s() expects a tensor of booleans, integers, floats or complex numbers, "
         "not %s; %s",
         function, name_of(view).c_str(), advice_on_values(view.dtype()));
  }
  require(wait_until_ready(self));
}

// The element at an offset, in elements, from the first one.
inline ref value_at(tensor_view const& view, std::int64_t offset) {
  std::int64_t const position = offset * bits_per_element(view);
  std::int64_t const byte = position >= 0 ? position / 8 : -((7 - position) / 8);
  auto const* const memory = static_cast<unsigned char const*>(view.data());
  return checked(element_value(memory + byte, static_cast<int>(position - byte * 8), view.dtype()));
}

// The only element. Throws, with ValueError set for another number of elements, or as
// prepare_values.
inline ref only_value(char const* function, PyObject* object) {
  ref const kept = ref::borrow(object);  // another thread may drop the Tensor during the wait
  tensor_object const& self = tensor_in(object);
  if (self.view.count() != 1) {
    fail(PyExc_ValueError, "%s() expects a tensor of one element, not %s", function,
         name_of(self.view).c_str());
  }
  prepare_values(function, self);
  return value_at(self.view, 0);
}

inline ref item(PyObject* object, PyObject*) { return only_value("item", object); }
inline ref float_of(PyObject* object) {
  return checked(api<PyNumber_Float>(only_value("float", object).get()));
}
inline ref int_of(PyObject* object) {
  return checked(api<PyNumber_Long>(only_value("int", object).get()));
}
inline ref complex_of(PyObject* object, PyObject*) {
  ref value = only_value("complex", object);
  if (PyComplex_Check(value.get())) {
    return value;
  }
  double const real = api<PyFloat_AsDouble>(value.get());
  require(real != -1.0 || PyErr_Occurred() == nullptr);
  return checked(api<PyComplex_FromDoubles>(real, 0.0));
}

// __format__: formats the element of a 0-d tensor, as NumPy and PyTorch do. Without a format every
// tensor has the text of str.
inline ref format(PyObject* object, PyObject* spec) {
  if (!PyUnicode_Check(spec)) {
    fail(PyExc_TypeError, "__format__() takes a str, not %.200s", Py_TYPE(spec)->tp_name);
  }
  if (PyUnicode_GET_LENGTH(spec) == 0) {
    return checked(api<PyObject_Str>(object));
  }
  tensor_view const& view = tensor_in(object).view;
  if (view.rank() != 0) {
    fail(PyExc_TypeError,
         "a format such as %R applies to a 0-d tensor, not to %s; format the values "
         "of t.tolist()",
         spec, name_of(view).c_str());
  }
  return checked(api<PyObject_Format>(only_value("format", object).get(), spec));
}

// nb_index: only a 0-d tensor of integers is an index, as in NumPy.
inline ref index_of(PyObject* object) {
  tensor_view const& view = tensor_in(object).view;
  bool const is_integer = view.dtype().code == kDLInt || view.dtype().code == kDLUInt;
  if (!is_integer || view.rank() != 0) {
    fail(PyExc_TypeError, "only a 0-d tensor of an integer dtype is an index, not %s",
         name_of(view).c_str());
  }
  return only_value("index", object);
}

// nb_bool: the truth of the one element, as in the array API.
inline int truth_of(PyObject* object) noexcept {
  int truth = -1;
  completes([&] {
    tensor_view const& view = tensor_in(object).view;
    if (view.count() != 1) {
      fail(PyExc_ValueError,
           "bool() expects a tensor of one element, not %s: a tensor of %s elements has no truth "
           "value; test it with its library, such as np.from_dlpack(t).any()",
           name_of(view).c_str(), view.empty() ? "no" : "several");
    }
    truth = api<PyObject_IsTrue>(only_value("bool", object).get());
  });
  return truth;
}

// The elements from a dimension on as nested lists; the element itself after the last dimension.
inline ref nested_list(tensor_view const& view, int dimension, std::int64_t offset) {
  if (dimension == view.rank()) {
    return value_at(view, offset);
  }
  auto const extent = static_cast<Py_ssize_t>(view.extent(dimension));
  if (extent != view.extent(dimension)) {
    throw std::bad_alloc();
  }
  ref list = checked(api<PyList_New>(extent));
  for (Py_ssize_t i = 0; i < extent; ++i) {
    std::int64_t const step = wrapping_product(i, view.stride(dimension));
    PyList_SET_ITEM(list.get(), i, nested_list(view, dimension + 1, offset + step).release());
  }
  return list;
}

DLBRIDGE_COLD inline ref tolist(PyObject* object, PyObject*) {
  ref const kept = ref::borrow(object);
  prepare_values("tolist", tensor_in(object));
  return nested_list(tensor_in(object).view, 0, 0);
}

// tobytes(): the elements in row-major order.
DLBRIDGE_COLD inline ref tobytes(PyObject* object, PyObject*) {
  ref const kept = ref::borrow(object);
  tensor_view const& view = tensor_in(object).view;
  if (!is_host_accessible(view.device())) {
    refuse_device("tobytes", view);
  }
  require(wait_until_ready(tensor_in(object)));
  std::int64_t const bytes = compact_size(view);
  ref result = checked(api<PyBytes_FromStringAndSize>(nullptr, static_cast<Py_ssize_t>(bytes)));
  if (bytes != 0) {
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
  return result;
}
}  // namespace core DLBRIDGE_LOCAL
