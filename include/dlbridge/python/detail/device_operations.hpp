// device_operations: holds the functions that order streams, wait for them and copy between
// devices, which a module installs by use_devices.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/array_traits.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/python/api.hpp>
#include <dlbridge/shared_tensor.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/version.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// A copy to another device, or to new memory of the same kind.
struct move_request {
  shared_tensor const& owner;  ///< shares the ownership of the source
  tensor_view const& source;   ///< the tensor to copy
  device to;                   ///< where the copy is
  stream_ref on;               ///< a stream of either device, on which the source is ready
  struct_kind kind = struct_kind::versioned;
  bool waits = true;  ///< whether the copy is complete on return, as far as the host can wait
};

/// The device operations of this module. All are null until use_devices() (python/devices.hpp):
/// most extensions only pass a stream on, and need not compile the code of two drivers.
/// @par Thread and GIL
/// The caller holds the GIL. The functions release it while they wait.
struct device_operations {
  /// As dlbridge::try_order_after.
  report (*order_after)(stream_ref consumer, stream_ref producer) = nullptr;
  /// Makes the device of a stream current on this thread, with CUDA the context of the stream, as
  /// far as the driver does. Constructs a guard in room, which has the size of
  /// current_device::room; returns the function that destroys it, or null if there is none, as
  /// there is no driver.
  void (*(*enter)(stream_ref stream, void* room))(void* room) = nullptr;
  /// As dlbridge::in_current_context.
  stream_ref (*in_current_context)(stream_ref stream) = nullptr;
  /// As dlbridge::try_host_wait.
  report (*host_wait)(stream_ref stream) = nullptr;
  /// Checks whether move can copy from one device to the other. Returns a report: device_mismatch
  /// (no runtime copies between them), runtime_missing, runtime_failed (its driver is not usable,
  /// or lacks the second device).
  report (*check_move)(device from, device to) = nullptr;
  /// As dlbridge::located: the device of memory as its driver reports it.
  device (*located)(tensor_view const& view) = nullptr;
  /// As dlbridge::transfer, or transfer_async; throws. Makes a copy, in the order of a stream.
  managed_tensor (*move)(move_request const& request) = nullptr;
  /// Allocates the memory of a description, which lacks only data, on a device or pinned; throws.
  managed_tensor (*allocate)(description const& memory) = nullptr;
  /// As dlbridge::try_record_stream, for a tensor that move or allocate returned, or for a view of
  /// one. Keeps the object alive that owns the stream, unless it is null, as long as the memory.
  bool (*record_stream)(managed_tensor const& tensor, stream_ref stream,
                        PyObject* stream_object) noexcept = nullptr;
  /// Makes a SYCL queue, the stream= of a caller on oneAPI (spec 4.8), wait for the work that the
  /// queue of a tensor has received, which is null if it is not known. Only the package's module
  /// has the function. Returns false, with an exception set: bad_stream, or that of a queue.
  bool (*order_queues)(PyObject* later, PyObject* earlier) noexcept = nullptr;
  /// As dlbridge::copy_of, row-major. While it is null, exports and imports copy one element after
  /// the other: most extensions make no such copies, and need not compile the kernels.
  managed_tensor (*copy_host)(tensor_view const& source, struct_kind kind) = nullptr;

  DLBRIDGE_LOCAL static device_operations& get() noexcept;
};

namespace detail {
// A row-major copy of host-accessible memory. Throws.
managed_tensor copy_on_host(tensor_view const& view, struct_kind kind);

// Whether a tensor on device `actual` satisfies a request for device `requested`. The ordinal of
// memory that the CPU can access does not matter, because libraries number such memory differently:
// managed memory has ordinal 0 or the ordinal of a GPU (spec 1.3).
bool is_on_device(device actual, device requested) noexcept;

// The device that a caller requests: the CPU under every ordinal, since it is one memory space.
device destination(device requested) noexcept;
// The same for a tensor, which keeps its device where that satisfies the request.
device destination(device requested, device own) noexcept;

DLBRIDGE_COLD report no_device_operations(device where) noexcept;
DLBRIDGE_COLD report cannot_reach(device from, device to) noexcept;
// What copy=False refuses.
DLBRIDGE_COLD report forbidden_move(device where, device target) noexcept;
}  // namespace detail

/// Makes the consumer's stream wait for the producer's, unless they are one stream or the
/// producer's device has none.
/// @return a report: as dlbridge::try_order_after; runtime_missing (the module did not call
///   use_devices).
DLBRIDGE_COLD report try_order_after(stream_ref consumer, stream_ref producer) noexcept;
/// The same with an exception.
/// @throws error as try_order_after reports.
DLBRIDGE_COLD void order_after(stream_ref consumer, stream_ref producer);

/// Makes the host wait for the work that is enqueued on a stream of a device with streams.
/// @return a report: as dlbridge::try_host_wait; runtime_missing (the module did not call
///   use_devices).
DLBRIDGE_COLD report try_host_wait(stream_ref stream) noexcept;
/// The same with an exception. Returns at once on a device without streams.
/// @throws error as try_host_wait reports.
void host_wait(stream_ref stream);

/// Makes the device of a stream current on this thread, as a producer's `__dlpack__` expects it
/// (spec 4.6), until leave() or the destructor, which the same thread calls. Without use_devices(),
/// and for a device without streams, it does nothing.
class current_device {
 public:
  using room = void* [5];  // for a context_guard

  current_device() noexcept = default;
  current_device(current_device const&) = delete;
  current_device& operator=(current_device const&) = delete;
  ~current_device() { leave(); }

  DLBRIDGE_COLD void enter(stream_ref stream) noexcept;
  void leave() noexcept;

 private:
  void (*leave_)(void*) = nullptr;
  room room_;
};

/// The stream for use by any thread later, as dlbridge::in_current_context. Without use_devices()
/// the stream itself, since the module then orders no streams.
stream_ref in_current_context(stream_ref stream) noexcept;

/// Records a stream whose work may use the memory of a tensor until it is freed, if a move of this
/// module allocated the memory, and the stream exists as long as the memory: a default stream, or
/// one whose owner is passed. The handle of another stream may be destroyed by then.
void record_lasting_stream(managed_tensor const& tensor, stream_ref stream,
                           PyObject* stream_object = nullptr) noexcept;

/// Checks whether the module has device_operations::move and it can copy from one device to the
/// other.
/// @return a report: as device_operations::check_move; device_mismatch (the module did not call
///   use_devices).
DLBRIDGE_COLD report check_move(device from, device to) noexcept;
/// Whether it can.
inline bool can_move(device from, device to) noexcept { return check_move(from, to).ok(); }

/// Whether a runtime copies memory to new memory of the same kind, such as pinned memory.
bool can_copy_in_kind(device where) noexcept;

/// Whether a copy between two devices fails because of a driver that is missing or not usable.
bool lacks_driver(report const& why) noexcept;
/// Whether copy=False is why a move is not made. A device that no copy reaches, such as an ordinal
/// that the driver lacks, is another reason; a driver that is not usable is none.
/// @param why the report of check_move for these devices
DLBRIDGE_COLD bool forbids_move(copy_policy copy, device from, device to,
                                report const& why) noexcept;
}  // namespace python
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/detail/device_operations.ipp>
#endif
