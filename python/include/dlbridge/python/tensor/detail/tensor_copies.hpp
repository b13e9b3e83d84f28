// to, copy, ravel: move a Tensor to another device, and copy it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/device.hpp>
#include <dlbridge/python/detail/core.hpp>
#include <dlbridge/python/detail/parsing.hpp>
#include <dlbridge/python/import/request.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/python/tensor/detail/import_functions.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/python/tensor/detail/tensor_shapes.hpp>
#include <dlbridge/python/tensor/detail/tensor_views.hpp>

namespace core DLBRIDGE_LOCAL {
// to(device, *, stream=None, copy=None): from_dlpack(t, device=device, stream=stream, copy=copy)
DLBRIDGE_COLD inline PyObject* to_method(PyObject* object, PyObject* positional,
                                         PyObject* keywords) noexcept {
  char const* accepted[] = {"device", "stream", "copy", nullptr};
  PyObject* where = nullptr;
  PyObject* copy = Py_None;
  import_arguments arguments;
  arguments.request.stream = Py_None;
  if (!api<PyArg_ParseTupleAndKeywords>(positional, keywords, "O|$OO:to",
                                        const_cast<char**>(accepted), &where,
                                        &arguments.request.stream, &copy) ||
      !read_target(where, arguments.request.target) || !read_copy(copy, arguments.request.copy)) {
    return nullptr;
  }
  arguments.request.has_target = true;
  return import_producer(object, arguments);
}

// copy(): from_dlpack(t, copy=True)
DLBRIDGE_COLD inline PyObject* copy_method(PyObject* object, PyObject*) noexcept {
  import_arguments arguments;
  arguments.request.copy = copy_policy::always;
  return import_producer(object, arguments);
}

// ravel(): the elements in row-major order in one dimension: a view where possible, else a copy.
DLBRIDGE_COLD inline PyObject* ravel_method(PyObject* object, PyObject*) noexcept {
  view_layout flat;
  flat.add(tensor_in(object).view.count(), 1);
  view_layout const source = layout_of(tensor_in(object).view);
  if (flat.shape[0] == 0 || try_restride(source, flat)) {
    return make_view(object, flat).release();
  }
  flat.strides[0] = 1;
  ref const copied = ref::steal(copy_method(object, nullptr));  // row-major
  return copied ? make_view(copied.get(), flat).release() : nullptr;
}
}  // namespace core DLBRIDGE_LOCAL
