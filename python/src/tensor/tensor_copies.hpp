// to, copy, ravel: move a Tensor to another device, and copy it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/device.hpp>
#include <dlbridge/python/detail/read_values.hpp>
#include <dlbridge/python/import/import_request.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>

#include "core.hpp"
#include "tensor/import_functions.hpp"
#include "tensor/tensor_shapes.hpp"
#include "tensor/tensor_views.hpp"

namespace core DLBRIDGE_LOCAL {
// to(device, *, stream=None, copy=None): from_dlpack(t, device=device, stream=stream, copy=copy)
DLBRIDGE_COLD inline ref move_to(PyObject* object, PyObject* positional, PyObject* keywords) {
  char const* accepted[] = {"device", "stream", "copy", nullptr};
  PyObject* where = nullptr;
  PyObject* copy = Py_None;
  import_arguments arguments;
  arguments.request.stream = Py_None;
  arguments.request.has_target = true;
  require(api<PyArg_ParseTupleAndKeywords>(positional, keywords, "O|$OO:to",
                                           const_cast<char**>(accepted), &where,
                                           &arguments.request.stream, &copy));
  read_target(where, arguments.request.target);
  require(read_copy(copy, arguments.request.copy));
  return import_producer(object, arguments);
}

// copy(): from_dlpack(t, copy=True)
DLBRIDGE_COLD inline ref copy_of_elements(PyObject* object, PyObject*) {
  import_arguments arguments;
  arguments.request.copy = copy_policy::always;
  return import_producer(object, arguments);
}

// ravel(): the elements in row-major order in one dimension: a view where possible, else a copy.
DLBRIDGE_COLD inline ref ravel(PyObject* object, PyObject*) {
  view_layout flat;
  flat.add(tensor_in(object).view.count(), 1);
  if (flat.shape[0] == 0 || try_restride(layout_of(tensor_in(object).view), flat)) {
    return make_view(object, flat);
  }
  flat.strides[0] = 1;
  return make_view(checked(copy_of_elements(object, nullptr)).get(), flat);  // row-major
}
}  // namespace core DLBRIDGE_LOCAL
