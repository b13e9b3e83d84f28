// compare_tensor: implements == and != of a Tensor.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/detail/tensor_head.hpp>
#include <dlbridge/python/import/detail/no_producer.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/tensor_view.hpp>

#include "core.hpp"

namespace core DLBRIDGE_LOCAL {
// What elements an object has that == could compare: 2 for an array or a scalar of a library, 1 for
// a number or a sequence of them, 0 for a text or another object.
inline int elements_in(PyObject* object) {
  if (PyUnicode_Check(object) || PyBytes_Check(object) || PyByteArray_Check(object)) {
    return 0;
  }
  auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  bool const is_array = optional_attribute(type, names::get().dlpack) ||
                        (PyErr_Occurred() == nullptr && optional_attribute(type, "__array__"));
  require(PyErr_Occurred() == nullptr);
  if (is_array || is_list(object) ||
      (PyObject_CheckBuffer(object) != 0 && !PyMemoryView_Check(object))) {
    return is_array ? 2 : 1;
  }
  int const is_number =
      api<PyObject_IsInstance>(object, checked(import_function("numbers", "Number")).get());
  require(is_number >= 0);
  return is_number;
}

// == and !=, which compare no elements. Python compares the identity of two Tensors, and asks the
// other object otherwise, as an ndarray compares elements. TypeError where equal elements would be
// unequal: those of numbers, and of arrays that know no Tensor, for which Paddle answers a bool.
DLBRIDGE_COLD inline ref compare_tensor(PyObject* self, PyObject* other, int test) {
  bool const asks = (test == Py_EQ || test == Py_NE) && !has_tensor_head(Py_TYPE(other));
  int const elements = asks ? elements_in(other) : 0;
  ref answer = elements == 2 ? checked(call_slot(Py_TYPE(other)->tp_richcompare, other, self, test))
                             : ref::borrow(Py_NotImplemented);
  bool const is_none =
      answer.get() == Py_NotImplemented || answer.get() == Py_True || answer.get() == Py_False;
  if (elements == 0 || !is_none) {
    return answer;
  }
  tensor_view const& view = tensor_in(self).view;
  bool const is_packed = is_sub_byte(view.dtype()) && !view.is_padded();
  fail(PyExc_TypeError, "a Tensor does not compare its elements, %s, with one of type %.200s; %s",
       name_of(view).c_str(), Py_TYPE(other)->tp_name,
       elements == 2 ? "import both with from_dlpack() of one library, and compare them there"
       : !is_host_accessible(view.device())
           ? "compare a copy on the CPU, as t.to('cpu').numpy() == x"
       : is_packed ? "compare t.tolist()"
                   : "compare an array, as numpy.asarray(t) == x");
}
}  // namespace core DLBRIDGE_LOCAL
