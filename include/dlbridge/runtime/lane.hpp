// transfer_lane: a stream that is entered, and the copies enqueued on it, which are through before
// what they use is freed.
// floor 6 · side road: when memory must move
#pragma once

#include <cstddef>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/driver.hpp>
#include <dlbridge/runtime/hip.hpp>
#include <dlbridge/runtime/order.hpp>
#include <dlbridge/stream.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace detail {

inline memory_side side_of(device where) noexcept {
  return !is_host_accessible(where)                ? memory_side::device
         : runtime_of(where) == runtime_kind::none ? memory_side::host
                                                   : memory_side::managed;
}

// A stream that is entered, and the copies on it. Nothing that they use is freed before they are
// through: what they use is destroyed after the lane, or drains it first.
template <class Table>
class transfer_lane {
 public:
  transfer_lane(Table const& driver, stream_ref on) : driver_(driver), guard_(driver), on_(on) {
    has_stream_ = runtime_of(on.device()) != runtime_kind::none;
    require_success(has_stream_ ? guard_.try_enter(on) : guard_.try_enter_device(on.device().id));
    if (has_stream_) {
      require_success(try_read_capture(driver, on, capture_));
    }
  }
  transfer_lane(transfer_lane const&) = delete;
  transfer_lane& operator=(transfer_lane const&) = delete;
  ~transfer_lane() { drain(); }

  Table const& driver() const noexcept { return driver_; }
  stream_ref stream() const noexcept { return on_; }
  context_guard<Table> const& guard() const noexcept { return guard_; }

  void require_no_capture() const {
    if (capture_.active) {
      raise(no_wait_in_capture());
    }
  }
  /// Where memory really is: its owner's ordinals need not be the driver's.
  device locate(tensor_view const& view) const noexcept {
    device where = view.device();
    if (runtime_of(where) != runtime_kind::none) {
      static_cast<void>(try_locate(driver_, view.data(), where));
    }
    return where;
  }

  void copy(block_copy const& block) {
    pending_ = true;
    require_success(try_copy(driver_, block, on_.native_handle()));
  }
  void copy_peer(void* to, device to_device, void const* from, device from_device,
                 std::size_t bytes) {
    auto const to_place = place_of(to_device);
    auto const from_place = place_of(from_device);
    pending_ = true;
    require_success(
        try_copy_peer(driver_, to, to_place, from, from_place, bytes, on_.native_handle()));
  }
  /// Waits for what is on the stream; there is none where both sides are the host's.
  void wait() {
    require_no_capture();
    if (has_stream_) {
      require_success(try_call(driver_, driver_.stream_synchronize, on_.native_handle()));
    }
    pending_ = false;
  }
  void leave_running() noexcept { pending_ = false; }
  /// Waits for copies that nobody has waited for, because one of them was refused.
  void drain() noexcept {
    if (pending_ && !capture_.active) {
      static_cast<void>(succeeds(driver_, driver_.stream_synchronize, on_.native_handle()));
    }
    pending_ = false;
  }

 private:
  typename Table::place place_of(device where) const {
    context_guard<Table> there(driver_);
    require_success(there.try_enter_device(where.id));
    return there.place();
  }

  Table const& driver_;
  context_guard<Table> guard_;
  stream_ref on_;
  capture_state capture_;
  bool has_stream_ = false;
  bool pending_ = false;
};

}  // namespace detail
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
