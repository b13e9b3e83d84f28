// consume_argument: imports an argument of an extension function by its __dlpack__, on its device
// and without a copy.
#pragma once

#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/capsule.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/import/detail/import_call.hpp>
#include <dlbridge/python/import/request.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
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
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
