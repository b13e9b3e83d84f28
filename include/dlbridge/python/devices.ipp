// The bodies of devices.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <dlbridge/build.hpp>
#include <dlbridge/copy.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/host_memory.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/devices.hpp>
#include <dlbridge/python/gil.hpp>
#include <dlbridge/python/object_owner.hpp>
#include <dlbridge/python/ref.hpp>
#include <dlbridge/runtime/cuda_context.hpp>
#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/runtime/detail/memory.hpp>
#include <dlbridge/runtime/order.hpp>
#include <dlbridge/runtime/transfer.hpp>
#include <dlbridge/runtime/transfer_async.hpp>
#include <dlbridge/shared_tensor.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/version.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline report no_such_device(int count, device where) noexcept {
  report r = refusal(errc::runtime_failed, "one of the ", "", "Pass a device that the runtime has");
  r.expected.append(std::int64_t{count}).append(" devices of its driver");
  append_name(r.got, where);
  return r;
}

// Whether the driver has a device: pinned memory belongs to none.
template <class Table>
report check_ordinal(Table const& driver, device where) noexcept {
  int count = 0;
  bool const is_known = where.id == 0 || memory_of(where) == memory_kind::pinned ||
                        !succeeds(driver, driver.device_get_count, &count);
  return is_known || (where.id > 0 && where.id < count) ? report{} : no_such_device(count, where);
}

// Checks whether a runtime copies between two devices, its driver is usable, and has the second.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline report check_copy_path(device from, device to) noexcept {
  runtime_kind const kind = runtime_of_memory(from) != runtime_kind::none ? runtime_of_memory(from)
                                                                          : runtime_of_memory(to);
  runtime_kind copier = runtime_kind::none;
  stream_ref const stream = stream_ref::default_of(runtime_of(to) == kind ? to : from);
  bool const has_path = dlbridge::detail::find_copy_path(from, to, stream, copier).ok();
  return has_path && copier != runtime_kind::none
             ? with_driver(copier, [to](auto const& driver) { return check_ordinal(driver, to); })
             : cannot_reach(from, to);
}

// Owns memory of a driver, and frees it without the GIL: the driver waits for work of the device,
// for which other threads need not wait, and which may need the GIL to complete, such as a host
// function that calls Python.
class driver_owner {
 public:
  explicit driver_owner(managed_tensor memory) noexcept : memory_(std::move(memory)) {}
  driver_owner(driver_owner&&) noexcept = default;
  driver_owner& operator=(driver_owner&&) = delete;
  ~driver_owner() {
    if (memory_ && interpreter_alive() && holds_gil()) {
      gil_release const released;
      memory_ = managed_tensor();
    }
  }

  managed_tensor const& memory() const noexcept { return memory_; }

 private:
  managed_tensor memory_;
};

DLBRIDGE_NOINLINE DLBRIDGE_API bool record_stream(managed_tensor const& tensor, stream_ref stream,
                                                  PyObject* stream_object) noexcept {
  if (auto* const shared = dlbridge::detail::find_owner<shared_tensor>(tensor)) {  // of a view
    return record_stream(shared->get(), stream, stream_object);
  }
  auto* const owner = dlbridge::detail::find_owner<driver_owner>(tensor);
  try {
    std::shared_ptr<void const> kept;
    if (owner != nullptr && stream_object != nullptr) {  // its address is that of the object
      kept = {std::make_shared<object_owner>(ref::borrow(stream_object)), stream_object};
    }
    return owner != nullptr && try_record_stream(owner->memory(), stream, std::move(kept));
  } catch (std::bad_alloc const&) {
    return false;
  }
}

DLBRIDGE_NOINLINE DLBRIDGE_API auto enter_device(stream_ref stream, void* room) noexcept
    -> void (*)(void*) {
  void (*leave)(void*) = nullptr;
  static_cast<void>(with_driver(runtime_of(stream.device()), [&](auto const& driver) noexcept {
    using guard = context_guard<std::decay_t<decltype(driver)>>;
    static_assert(sizeof(guard) <= sizeof(current_device::room));
    static_cast<void>((::new (room) guard(driver))->try_enter(stream));
    leave = [](void* entered) { static_cast<guard*>(entered)->~guard(); };
    return report{};
  }));
  return leave;
}

DLBRIDGE_COLD DLBRIDGE_NOINLINE inline managed_tensor move_without_gil(
    move_request const& request) {
  transfer_options options;
  options.kind = request.kind;
  options.row_major = is_on_device(request.source.device(), request.to);  // as copies on the host
  managed_tensor copy;
  {
    gil_release const released;
    copy = request.waits
               ? transfer(request.source, request.to, request.on, options)
               : transfer_async(request.owner, request.source, request.to, request.on, options);
  }
  if (runtime_of_memory(request.to) == runtime_kind::none) {
    return copy;
  }
  description const d = describe(copy);
  return build_on(driver_owner(std::move(copy)), d, request.kind);
}

DLBRIDGE_COLD DLBRIDGE_NOINLINE inline managed_tensor allocate_without_gil(description d) {
  std::size_t const bytes = dlbridge::detail::compact_bytes(d);
  managed_tensor tensor;
  {
    gil_release const released;
    dlbridge::detail::require_success(
        with_driver(runtime_of_memory(d.device), [&](auto const& driver) {
          using table = std::remove_cv_t<std::remove_reference_t<decltype(driver)>>;
          context_guard<table> guard(driver);
          driver_memory<table> memory;
          dlbridge::detail::require_success(guard.try_enter_device(stream_device(d.device).id));
          dlbridge::detail::require_success(
              memory.try_allocate(driver, guard, d.device, bytes != 0 ? bytes : 1));
          d.data = memory.address();
          tensor = build_on(std::move(memory), d);
          return report{};
        }));
  }
  return build_on(driver_owner(std::move(tensor)), d);
}
}  // namespace python::detail

DLBRIDGE_API void use_devices() noexcept {
  python::device_operations& operations = python::device_operations::get();
  operations.order_after = [](stream_ref consumer, stream_ref producer) {
    python::gil_release const released;
    return try_order_after(consumer, producer);
  };
  operations.enter = &python::detail::enter_device;
  operations.in_current_context = [](stream_ref stream) { return in_current_context(stream); };
  operations.host_wait = [](stream_ref stream) {
    python::gil_release const released;
    report const why = try_host_wait(stream);
    release_completed();
    return why.has(errc::runtime_missing) ? report{} : why;  // no driver, so no pending work
  };
  operations.check_move = [](device from, device to) {
    return python::detail::check_copy_path(from, to);
  };
  operations.located = [](tensor_view const& view) { return located(view); };
  operations.move = [](python::move_request const& request) {
    return python::detail::move_without_gil(request);
  };
  operations.allocate = [](description const& memory) {
    return python::detail::allocate_without_gil(memory);
  };
  operations.record_stream = &python::detail::record_stream;
  operations.copy_host = [](tensor_view const& source, struct_kind kind) {
    return copy_of(source, layout::row_major, kind);
  };
}

DLBRIDGE_END_NAMESPACE
