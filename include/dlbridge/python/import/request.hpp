// consume_request: states what a consumer requests of a producer.
// layer: import · the request of an import
#pragma once

#include <dlbridge/device.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/detail/parsing.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/stream.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

/// What a consumer requests of a producer.
struct consume_request {
  bool has_target = false;
  device target{};  // where the tensor must be; used only with has_target
  copy_policy copy = copy_policy::if_needed;
  PyObject* stream = nullptr;    // borrowed: the value of stream=, or null
  char const* advice = nullptr;  // static text for the refusal of a non-producer
  bool by_protocol = false;      // whether to call __dlpack__ although the type has a table
  /// Moves or copies the tensor as requested, if the producer did not (import/detail/fulfil.hpp).
  /// If null, consume returns the tensor as the producer exported it. Calls of extension functions
  /// request neither a device nor a copy for their arguments. They leave this member null, so that
  /// extensions need not compile the function. ready is the stream on which the elements are ready,
  /// before and after the call.
  managed_tensor (*fulfil)(managed_tensor, consume_request const&, bool wants_copy,
                           stream_ref& ready) = nullptr;

  /// Whether the tensor is requested on its present device, and without a copy.
  bool takes_as_it_is() const noexcept { return !has_target && copy == copy_policy::if_needed; }
};

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
