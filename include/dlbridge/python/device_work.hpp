// What streams and copies on devices take, as functions that a module chooses to have.
// floor 5 · side road: to the device runtimes, without compiling them into everyone
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/stream.hpp>
#include <dlbridge/version.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

/// Null until use_devices() (devices.hpp). Most extensions only ever pass a stream on, and need not
/// carry the code of two drivers.
/// thread and GIL: held by the caller; the functions release it while they wait.
struct device_work {
  /// As dlbridge::try_order_after and try_host_wait.
  report (*order_after)(stream_ref consumer, stream_ref producer) = nullptr;
  report (*host_wait)(stream_ref stream) = nullptr;
  /// Whether move has a road, and the drivers for it.
  bool (*can_move)(device from, device to) = nullptr;
  /// As dlbridge::located: where memory really is, as its driver knows.
  device (*located)(tensor_view const& view) = nullptr;
  /// As dlbridge::transfer, which throws: a copy, made in the order of a stream.
  managed_tensor (*move)(tensor_view const& source, device to, stream_ref on,
                         flavour kind) = nullptr;

  DLBRIDGE_LOCAL static device_work& get() noexcept {
    static device_work chosen;
    return chosen;
  }
};

namespace detail {
DLBRIDGE_COLD inline report no_device_work(device where) noexcept {
  report r = refusal(errc::runtime_missing, "a module that works with the streams of ", "",
                     "Its author calls dlbridge::use_devices() where the module is made; until "
                     "then pass stream=-1 and order the streams yourself");
  append_name(r.expected, where);
  r.got.append("one that does not");
  return r;
}
}  // namespace detail

/// Makes consumer wait for producer, unless they are one stream.
/// reports: as try_order_after; runtime_missing (the module does without devices).
inline report try_order(stream_ref consumer, stream_ref producer) noexcept {
  if (consumer == producer || runtime_of(producer.device()) == runtime_kind::none) {
    return report{};
  }
  device_work const& work = device_work::get();
  return work.order_after != nullptr ? work.order_after(consumer, producer)
                                     : detail::no_device_work(producer.device());
}

/// Waits for what is enqueued on a stream; on a device without streams for nothing.
/// reports: as try_host_wait; runtime_missing (the module does without devices).
inline report try_wait(stream_ref stream) noexcept {
  if (runtime_of(stream.device()) == runtime_kind::none) {
    return report{};
  }
  device_work const& work = device_work::get();
  return work.host_wait != nullptr ? work.host_wait(stream)
                                   : detail::no_device_work(stream.device());
}

/// The forms that throw. fails: as the ones that try.
inline void require_order(stream_ref consumer, stream_ref producer) {
  report const why = try_order(consumer, producer);
  if (!why.ok()) {
    raise(why);
  }
}
inline void require_wait(stream_ref stream) {
  report const why = try_wait(stream);
  if (!why.ok()) {
    raise(why);
  }
}

/// Whether device_work::move is there, has a road from one to the other, and the driver for it.
inline bool can_move(device from, device to) noexcept {
  device_work const& work = device_work::get();
  return work.can_move != nullptr && work.can_move(from, to);
}

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
