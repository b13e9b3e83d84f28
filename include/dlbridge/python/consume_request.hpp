// What a consumer asks for.
// floor 5 · IN: the question
#pragma once

#include <dlbridge/device.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/interp.hpp>
#include <dlbridge/version.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

/// What a consumer wants of a producer. stream is what the caller passed, or null.
struct consume_request {
  bool has_target = false;
  device target;
  copy_policy copy = copy_policy::if_needed;
  PyObject* stream = nullptr;
  char const* advice = nullptr;  // what to do with an object that is no producer: static text
  // Does what the producer left undone, settle_tensor as a rule. Null takes a tensor as it comes:
  // an extension's arguments ask for no device and no copy, and need not compile either.
  managed_tensor (*settle)(managed_tensor, consume_request const&, bool wants_copy) = nullptr;
};

namespace detail {
// Whether a tensor on device a is where device b was asked for. Ordinals tell devices apart only
// where memory belongs to one: managed memory, say, has 0 or the number of a GPU (spec 1.3).
inline bool same_place(device a, device b) noexcept {
  return a.type == b.type && (a.id == b.id || is_host_accessible(a));
}
}  // namespace detail

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
