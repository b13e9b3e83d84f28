// import_tensor: imports the tensor of a DLPack producer, or of a raw capsule; moves it to the
// requested device, or copies it, where the producer did not.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/python/import/import_request.hpp>
#include <dlbridge/stream_ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
// Moves or copies a tensor that is not yet as requested. ready is the stream on which the elements
// are ready, before and after. On failure the deleter of m runs before the exception is set, or
// while the exception is put aside.
managed_tensor fulfil_request(managed_tensor m, import_request const& request, bool wants_copy,
                              stream_ref& ready) noexcept;

// As import_tensor(), without the table of the type.
managed_tensor import_by_call(PyObject* producer, import_request const& request,
                              stream_ref& ready) noexcept;
}  // namespace detail

/// Imports the tensor of a producer, or of a raw capsule.
/// @param producer the producer or the capsule.
/// @param request the requested device, copy and stream.
/// @param[out] ready the stream of the tensor's device on which its elements are ready: the
///   requested stream, or the default stream.
/// @return the tensor; empty, with a Python exception set, on failure. The exception is the
///   producer's own, unchanged; CopyForbiddenError when copy=False cannot be fulfilled; else that
///   of not_a_producer, not_a_capsule, capsule_used, producer_failed, device_mismatch, bad_stream,
///   bad_argument, or as for managed_tensor::steal and device_operations::move.
/// @par Ownership
/// The caller owns the result. On failure the producer still owns its tensor, or it has been freed.
/// @par Stream order
/// The caller enqueues work on the elements on ready, or orders it after ready.
/// @par Thread and GIL
/// The caller holds the GIL. The function calls Python code, which may release it.
managed_tensor import_tensor(PyObject* producer, import_request const& request,
                             stream_ref& ready) noexcept;
/// Imports the tensor of a producer, or of a raw capsule, for callers that do not need the stream.
managed_tensor import_tensor(PyObject* producer, import_request const& request) noexcept;
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/import/import_tensor.ipp>
#endif
