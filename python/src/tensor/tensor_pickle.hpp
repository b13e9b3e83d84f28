// reduce: pickles a Tensor.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/build.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/detail/copy_plan.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/python/tensor/detail/tensor_object.hpp>
#include <dlbridge/requirement.hpp>
#include <dlbridge/tensor_view.hpp>

#include "core.hpp"
#include "tensor/long_copy.hpp"
#include "tensor/tensor_attributes.hpp"
#include "tensor/tensor_values.hpp"
#include "tensor/tensor_views.hpp"

namespace core DLBRIDGE_LOCAL {
// The bytes of a compact tensor as a Tensor of uint8.
inline ref as_bytes(PyObject* object) {
  tensor_view const& view = tensor_in(object).view;
  description d;
  d.data = const_cast<void*>(view.data());
  d.type = dtype(kDLUInt, 8);
  d.shape = dims(bytes_for(view.count(), view.dtype(), view.is_padded()));
  d.flags = view.flags() & flag_read_only;
  return retyped(object, d);
}

// __reduce_ex__(protocol). From protocol 5 on the bytes are an out-of-band buffer, which is not
// copied; below, a bytes object. A tensor that is not compact, or whose last byte has unused bits,
// is copied to a compact one first.
DLBRIDGE_COLD inline ref reduce(PyObject* object, PyObject* argument) {
  long const protocol = api<PyLong_AsLong>(argument);
  require(protocol != -1 || PyErr_Occurred() == nullptr);
  tensor_view const& view = tensor_in(object).view;
  if (!is_host_accessible(view.device())) {
    fail(PyExc_TypeError, "cannot pickle a tensor %s: the CPU cannot read its memory. %s",
         name_of(view).c_str(),
         advice_to_copy(view, "Copy it first, with from_dlpack(t, device='cpu')"));
  }
  require(wait_until_ready(tensor_in(object)));
  ref compact = ref::borrow(object);
  bool const row_major = view.is_row_major();
  bool const column_major = !row_major && view.is_column_major();
  if (!(row_major || column_major) || !dlbridge::detail::fills_bytes(view)) {
    layout const order = column_major ? layout::column_major : layout::row_major;
    compact = checked(new_tensor(Py_TYPE(object), copy_without_gil(view, order)));
  }
  ref const bytes = as_bytes(compact.get());
  ref const payload = checked(protocol >= 5 ? api<PyPickleBuffer_FromObject>(bytes.get())
                                            : api<PyBytes_FromObject>(bytes.get()));
  ref const rebuild = checked(import_function("dlbridge", "_rebuild"));
  return checked(api<Py_BuildValue>("O(OsOsOK)", rebuild.get(), payload.get(),
                                    name_of(view.dtype()).c_str(), checked(shape_of(view)).get(),
                                    column_major ? "F" : "C", view.read_only() ? Py_True : Py_False,
                                    static_cast<unsigned long long>(view.flags() & flag_padded)));
}
}  // namespace core DLBRIDGE_LOCAL
