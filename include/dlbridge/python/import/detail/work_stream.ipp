// The bodies of work_stream.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/detail/read_stream.hpp>
#include <dlbridge/python/detail/tensor_head.hpp>
#include <dlbridge/python/import/detail/known_types.hpp>
#include <dlbridge/python/import/detail/type_cache.hpp>
#include <dlbridge/python/import/detail/work_stream.hpp>
#include <dlbridge/python/pending_exception.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
// The stream object that the library of an object provides: that of the object itself, which has
// `__cuda_stream__`, or the current one of its library. An empty reference, with
// or without an exception set, where there is none.
inline ref find_stream_object(PyObject* object, device where) noexcept {
  known_type const* const known = type_cache::get(Py_TYPE(object)).known();
  if (known != nullptr && known->stream_function != nullptr) {
    ref const function = import_function(known->stream_module, known->stream_function);
    ref const ordinal = function ? ref::steal(PyLong_FromLong(where.id)) : ref();
    return ordinal ? ref::steal(api<detail::call_with>(function.get(), ordinal.get())) : ref();
  }
  ref const stream = optional_attribute(object, names::get().cuda_stream_protocol);
  return stream ? ref::borrow(object) : ref();
}
}  // namespace detail

DLBRIDGE_NOINLINE DLBRIDGE_API stream_ref work_stream_of(PyObject* object, exchange_table table,
                                                         device where) noexcept {
  stream_ref result = stream_ref::default_of(where);
  if (runtime_of(where) == runtime_kind::none) {
    return result;
  }
  if (table && table.has_work_stream() && table.try_work_stream(where, result) &&
      result.native_handle() != nullptr) {
    return result;
  }
  result = stream_ref::default_of(where);
  if (detail::read_stream_of_tensor(object, result)) {
    return result;
  }
  ref const stream = suppress_exception() ? detail::find_stream_object(object, where) : ref();
  std::int64_t handle = 0;
  if (stream && read_stream(stream.get(), where, handle)) {
    stream_request request;
    result =
        try_read_stream(where, handle, request).ok() && request.ordered ? request.stream : result;
  }
  suppress_exception();
  return result;
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
