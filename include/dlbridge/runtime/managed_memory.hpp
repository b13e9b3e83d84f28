// prefetch, advise: move managed memory before it is used, and tell the driver how it will be used.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <dlbridge/abi.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/runtime/cuda.hpp>
#include <dlbridge/runtime/cuda_context.hpp>
#include <dlbridge/runtime/detail/block_plan.hpp>
#include <dlbridge/runtime/detail/driver.hpp>
#include <dlbridge/runtime/hip.hpp>
#include <dlbridge/runtime/order.hpp>
#include <dlbridge/stream_ref.hpp>
#include <dlbridge/tensor_view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {

/// How managed memory will be used. The values are those of CUmem_advise and hipMemoryAdvise, which
/// undo an advice with the next value.
enum class memory_advice : std::uint8_t {
  read_mostly = 1,         ///< Rarely written: each processor that reads keeps a copy.
  preferred_location = 3,  ///< Stays on the device where it can.
  accessed_by = 5          ///< The device maps the memory, wherever it lies.
};

namespace detail {
// The arguments that both drivers have in common. CUDA and HIP call the CPU -1.
struct DLBRIDGE_PUBLIC managed_range {
  void const* first;
  std::size_t bytes;
  int ordinal;

  managed_range(tensor_view const& view, device where) noexcept
      : first(static_cast<char const*>(view.data()) + range_of(view).first),
        bytes(static_cast<std::size_t>(range_of(view).size)),
        ordinal(runtime_of(where) != runtime_kind::none ? where.id : -1) {}
};
inline cuda_location location_of(managed_range const& range) noexcept {
  constexpr int type_device = 1, type_host = 2;
  return range.ordinal >= 0 ? cuda_location{type_device, range.ordinal}
                            : cuda_location{type_host, 0};
}

inline report try_prefetch(cuda_table const& driver, managed_range const& range,
                           void* stream) noexcept {
  return driver.prefetch_to
             ? try_call(driver, driver.prefetch_to, range.first, range.bytes, location_of(range),
                        0U, stream)
             : try_call(driver, driver.prefetch, range.first, range.bytes, range.ordinal, stream);
}
inline report try_prefetch(hip_table const& driver, managed_range const& range,
                           void* stream) noexcept {
  return try_call(driver, driver.prefetch, range.first, range.bytes, range.ordinal, stream);
}
inline report try_advise(cuda_table const& driver, managed_range const& range,
                         int advice) noexcept {
  return driver.advise_for
             ? try_call(driver, driver.advise_for, range.first, range.bytes, advice,
                        location_of(range))
             : try_call(driver, driver.advise, range.first, range.bytes, advice, range.ordinal);
}
inline report try_advise(hip_table const& driver, managed_range const& range, int advice) noexcept {
  return try_call(driver, driver.advise, range.first, range.bytes, advice, range.ordinal);
}
}  // namespace detail

/// Moves the pages of a tensor in managed memory to a device or to the CPU, in the order of a
/// stream. Results do not change: without the call, the pages move at their first use.
/// @param view a tensor in managed memory. The pages of the bytes between its elements move too.
/// @param where a device of the stream's runtime, or the CPU.
/// @param stream the stream, on which the call enqueues the operation.
/// @throws error runtime_missing, runtime_failed (for example because the memory is not managed).
/// @par Thread and GIL
/// Any thread. The call does not block.
inline void prefetch(tensor_view const& view, device where, stream_ref stream) {
  if (!view.empty()) {
    detail::require_success(with_driver(runtime_of(stream.device()), [&](auto const& driver) {
      context_guard<std::decay_t<decltype(driver)>> guard(driver);
      report const status = guard.try_enter(stream);
      return status.ok() ? detail::try_prefetch(driver, detail::managed_range(view, where),
                                                stream.native_handle())
                         : status;
    }));
  }
}

/// Tells the driver how the managed memory of a tensor will be used.
/// @param view a tensor in managed memory.
/// @param advice the use.
/// @param where the device that the advice is about, or the CPU; without a meaning for read_mostly.
/// @param is_set false undoes an earlier advice.
/// @throws error runtime_missing, runtime_failed (for example because the memory is not managed).
/// @par Thread and GIL
/// Any thread.
inline void advise(tensor_view const& view, memory_advice advice, device where,
                   bool is_set = true) {
  if (!view.empty()) {
    runtime_kind const runtime = runtime_of_memory(view.device());
    int const value = static_cast<int>(advice) + (is_set ? 0 : 1);
    detail::require_success(with_driver(runtime, [&](auto const& driver) {
      return detail::try_advise(driver, detail::managed_range(view, where), value);
    }));
  }
}

}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
