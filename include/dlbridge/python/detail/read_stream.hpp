// read_stream, choose_stream: read stream= as Python callers pass it, and choose the stream of work
// on a device.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/device.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/stream_ref.hpp>

// Every read_* function returns false, with ValueError set, for a value that it does not accept.
// TypeError is never set: a consumer would treat it as the sign of an old producer (spec 2.4). The
// caller holds the GIL.
DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
namespace detail {
// Reads an integer, or the address in a ctypes.c_void_p, whose value is None for null.
bool read_address(PyObject* value, std::int64_t& out) noexcept;
}  // namespace detail

/// Reads a stream: an int, which is taken as the protocol's integer; a Tensor, whose stream it is;
/// an object with `__cuda_stream__`, which returns (0, handle); or an object with a handle named
/// cuda_stream, ptr or handle. The handle of an object is not -1, which is an integer of the
/// protocol.
/// @param out set to the protocol's integer of the stream on device where.
/// @return false, with ValueError set, for any other value.
bool read_stream(PyObject* value, device where, std::int64_t& out) noexcept;

/// The object that owns the stream which stream= names; null for None, for an integer, and where
/// the caller passed none. An object with __index__ is an integer unless its type has another way
/// to the handle, which read_stream prefers.
PyObject* stream_object_in(PyObject* named) noexcept;

/// Chooses the stream for work on a device: the one that the caller named; else, for -1 (no order)
/// and on a device without streams, the default one.
/// @param named the stream= argument of the caller; None or null when the caller named none.
/// @param integer set, unless null, to the protocol's integer of what the caller named, or of the
///   default stream.
/// @return false, with an exception set, as read_stream and for bad_stream.
bool choose_stream(PyObject* named, device where, stream_ref& out,
                   std::int64_t* integer = nullptr) noexcept;
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/detail/read_stream.ipp>
#endif
