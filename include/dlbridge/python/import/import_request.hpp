// import_request: states what a consumer requests of a producer.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/version.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// States what to pass in place of an object; null if that is not known. It may set an exception.
using remedy_function = char const*(PyObject*) noexcept;

/// What a consumer requests of a producer.
struct import_request {
  bool has_target = false;  ///< whether target is requested
  device target{};          ///< where the tensor must be; used only with has_target
  copy_policy copy = copy_policy::if_needed;  ///< whether to copy
  PyObject* stream = nullptr;                 ///< borrowed: the value of stream=, or null
  bool on_work_stream = false;        ///< without stream=: on the stream of the producer's library
  remedy_function* remedy = nullptr;  ///< for an object that is no producer; null: the usual

  /// Whether the tensor is requested on its present device, and without a copy.
  bool takes_as_it_is() const noexcept { return !has_target && copy == copy_policy::if_needed; }
  /// Whether a stream is named, other than None.
  bool names_stream() const noexcept { return stream != nullptr && stream != Py_None; }
};

namespace detail {
// Whether the CPU makes a copy, or none is needed: the result is on the CPU, or the memory is of
// no runtime that could allocate memory of the same kind.
bool stays_on_host(device where, device target) noexcept;

// Why dlbridge does not make a move that the producer refuses: copy=False forbids it, the driver is
// missing, or dlbridge moves nothing to that device.
// is_own: the producer is a Tensor, which reaches the devices that check_move allows; another one
// may reach more
DLBRIDGE_COLD report refused_move(device where, import_request const& request,
                                  bool is_own) noexcept;
}  // namespace detail
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/import/import_request.ipp>
#endif
