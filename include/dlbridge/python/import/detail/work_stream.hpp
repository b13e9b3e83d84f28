// work_stream_of: finds the stream on which the library of an object currently works.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/exchange_table.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/stream_ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// The stream on which the library of an object currently works on a device: as the exchange table
/// of its type reports it, the object itself, such as a Tensor, or a function of the library. The
/// default stream where none of them reports another one.
/// @param table the exchange table of the object's type, or an empty one.
/// @return the stream. An exception that is not suppressible may be pending.
/// @par Thread and GIL
/// The caller holds the GIL. Python code may run.
DLBRIDGE_COLD stream_ref work_stream_of(PyObject* object, exchange_table table,
                                        device where) noexcept;
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/import/detail/work_stream.ipp>
#endif
