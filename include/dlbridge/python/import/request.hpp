// consume_request: states what a consumer requests of a producer.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/device.hpp>
#include <dlbridge/python/detail/parsing.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

/// States what to pass in place of an object; null if that is not known. It may set an exception.
using remedy_function = char const*(PyObject*) noexcept;

/// What a consumer requests of a producer.
struct consume_request {
  bool has_target = false;
  device target{};  // where the tensor must be; used only with has_target
  copy_policy copy = copy_policy::if_needed;
  PyObject* stream = nullptr;         // borrowed: the value of stream=, or null
  remedy_function* remedy = nullptr;  // for an object that is no producer; null: the usual
  bool must_call_dlpack = false;      // although the type has a table

  /// Whether the tensor is requested on its present device, and without a copy.
  bool takes_as_it_is() const noexcept { return !has_target && copy == copy_policy::if_needed; }
};

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
