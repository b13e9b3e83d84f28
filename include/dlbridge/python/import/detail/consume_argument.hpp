// consume_argument: imports an argument of an extension function by its __dlpack__, without a copy,
// on its device; consume_for_host, for the CPU.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/capsule.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/dlpack_call.hpp>
#include <dlbridge/python/import/detail/import_call.hpp>
#include <dlbridge/python/import/request.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {
// Imports the tensor of a raw capsule, as its producer exported it. Returns an empty tensor, with
// an exception set, on failure.
inline managed_tensor consume_capsule(PyObject* capsule) noexcept {
  report why;
  managed_tensor tensor = steal_capsule(capsule, why);
  if (!why.ok()) {
    set_error(why);
  }
  return tensor;
}

// As consume() by __dlpack__, for the argument of a function, which requests neither a device nor a
// copy nor a stream.
inline managed_tensor consume_argument(PyObject* producer) noexcept {
  if (PyCapsule_CheckExact(producer)) {
    return consume_capsule(producer);
  }
  consume_request const request;
  return import_call<no_request>(producer, request).run();
}

// Requests the same memory for the CPU: the producer then waits for its elements (spec 4.3). For a
// module that compiles no device operations.
DLBRIDGE_COLD inline managed_tensor consume_for_host(PyObject* producer, device own) noexcept {
  producer_method const method{optional_attribute(producer, names::get().dlpack), false};
  ref const host = method.function ? ref::steal(api<Py_BuildValue>("(ii)", int{kDLCPU}, 0)) : ref();
  call_keywords keywords;
  keywords.max_version = stated_version_object();
  keywords.dl_device = host.get();
  keywords.copy = Py_False;
  ref const capsule =
      host && keywords.max_version != nullptr ? call_dlpack(producer, method, keywords) : ref();
  managed_tensor tensor = capsule ? consume_capsule(capsule.get()) : managed_tensor();
  if (!tensor && suppress_exception()) {
    set_error(no_device_operations(own));
  }
  return tensor;
}
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
