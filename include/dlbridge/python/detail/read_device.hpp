// read_device, read_device_pair: read a device that a Python caller passes or a producer returns.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/python/api.hpp>

// Every read_* function returns false, with ValueError set, for a value that it does not accept.
// TypeError is never set: a consumer would treat it as the sign of an old producer (spec 2.4). The
// caller holds the GIL.
DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// Reads a pair (device type, device id) as `__dlpack_device__` returns it. An id of None is read
/// as 0, as Paddle returns (1, None) for the CPU.
/// @param name what the pair is, for the message.
/// @param code the reason that a refusal states.
/// @return false, with the exception for code set.
bool read_device_pair(PyObject* value, char const* name, device& out,
                      errc code = errc::bad_argument) noexcept;

/// Reads a device: a name such as "cuda:0", a pair such as (2, 0), a torch.device, a jax.Device, or
/// an object whose str() is a device name of dlbridge.
/// @return false, with ValueError set, for any other value.
DLBRIDGE_COLD bool read_device(PyObject* value, device& out) noexcept;
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/detail/read_device.ipp>
#endif
