// produce, read_export_request, device_pair: implement __dlpack__ and __dlpack_device__ of a
// tensor.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/build.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/shared_tensor.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/version.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// The arguments of one `__dlpack__` call, resolved for the device of the tensor.
struct export_request {
  struct_kind kind = struct_kind::legacy;     ///< the struct that the consumer supports
  copy_policy copy = copy_policy::if_needed;  ///< the value of `copy=`
  device target = cpu;                        ///< the device of the result
  stream_request order{};                     ///< the stream of the consumer
  bool host_reads = false;  ///< whether the host may read the memory, as no stream was named for it
  read_only_policy read_only = read_only_policy::refuse;  ///< of a legacy struct
  PyObject* queue = nullptr;  ///< borrowed: the object for device_operations::order_queues
};

/// Reads the arguments of `__dlpack__(*, stream, max_version, dl_device, copy)` for a tensor on
/// device own (spec 4.3), as a vectorcall function has them, to out.
/// @return false, with TypeError set for a positional argument or an unknown keyword, ValueError
///   for a bad value, BufferError for a device to which the tensor cannot be copied.
/// @pre The caller holds the GIL.
bool read_export_request(PyObject* const* args, Py_ssize_t count, PyObject* keywords, device own,
                         export_request& out) noexcept;

/// Orders the consumer of memory that is exported as it is after the work that is on ready: the
/// stream of the request, or the host.
/// @throws error as order_after and host_wait.
void order_export(export_request const& request, stream_ref const& ready);

/// A managed tensor as requested: on the memory of view, or a copy.
/// @param owner shares the tensor that view describes.
/// @param view the tensor.
/// @param ready the stream on which the elements are ready.
/// @param request the request of the consumer.
/// @throws error read_only, version_mismatch, out_of_memory; copy_forbidden; device_mismatch (the
///   CPU cannot read the memory, and no operation copies it); as order_after, host_wait and
///   device_operations::move.
/// @par Ownership
/// The result shares the owner, unless it is a copy.
/// @par Stream order
/// The stream of the request is ordered after ready.
/// @par Thread and GIL
/// The caller holds the GIL. Any thread may free the result, with or without it.
managed_tensor export_tensor(shared_tensor const& owner, tensor_view const& view,
                             stream_ref const& ready, export_request const& request);

/// Calls a function that builds the tensor for a call of `__dlpack__`.
/// @throws error as the function, with a remedy in terms of Python where a legacy struct cannot
///   describe the tensor.
template <class Build>
managed_tensor build_for_consumer(Build&& function);

/// The result of `__dlpack__`: a capsule with the tensor of export_tensor.
/// @param owner, view, ready, request as of export_tensor
/// @param caller the function that a refusal names
/// @return the capsule; empty, with a Python exception set, on failure.
/// @pre The caller holds the GIL.
ref produce(shared_tensor const& owner, tensor_view const& view, stream_ref const& ready,
            export_request const& request, char const* caller = "__dlpack__") noexcept;

/// The result of `__dlpack_device__`: the pair (device type, device id).
/// @return the pair; empty, with a Python exception set, on failure.
/// @pre The caller holds the GIL.
DLBRIDGE_LOCAL ref device_pair(device where) noexcept;

namespace detail {
// The order without stream=; on the CPU there is none. For managed and pinned memory, the consumer
// may be a library of the CPU: NumPy imports such memory, and works with no stream. The elements
// are then safe on return (spec 4.3).
void order_unnamed(device where, export_request& out) noexcept;

// Whether export_from_host serves the request, which is not for the memory as it is on its device.
bool is_served_by_host(device own, export_request const& request) noexcept;

// Throws a refusal of build once more, with the remedy of those who call `__dlpack__`.
[[noreturn]] DLBRIDGE_COLD void raise_to_consumer(report why);
}  // namespace detail
}  // namespace python
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/export/produce.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/export/produce.ipp>
#endif
