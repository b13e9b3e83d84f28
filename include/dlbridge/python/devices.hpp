// use_devices: installs the operations that order streams and copy tensors between devices.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/array_traits.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/stream_ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
// Returns false if another owner frees the memory, or there is no memory for the entry.
DLBRIDGE_COLD bool record_stream(managed_tensor const& tensor, stream_ref stream,
                                 PyObject* stream_object) noexcept;

// As device_operations::enter.
DLBRIDGE_COLD auto enter_device(stream_ref stream, void* room) noexcept -> void (*)(void*);
}  // namespace python::detail

/// Installs device_operations for this module, so that its Tensors and classes are ordered on
/// streams of CUDA and ROCm and copied between devices and the CPU. A module calls it once, in its
/// initialization. A driver is loaded when it is first needed; without one, tensors in host memory
/// work as they did before.
/// @par Thread and GIL
/// The caller holds the GIL. The operations release it while they wait for a stream or copy.
void use_devices() noexcept;

DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/devices.ipp>
#endif
