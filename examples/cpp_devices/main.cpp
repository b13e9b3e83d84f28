// SPDX-License-Identifier: BSD-3-Clause
// Orders streams, and copies tensors between a device and the CPU, without Python.
#include <dlbridge/dlbridge.hpp>
#include <dlbridge/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

namespace {

// [array]
// An array of a library that enqueues its operations on its own stream.
struct gpu_array {
  dlbridge::managed_tensor memory;
  dlbridge::stream_ref work;
};

}  // namespace

template <>
struct dlbridge::array_traits<gpu_array> {
  static description describe(gpu_array& a) noexcept { return dlbridge::describe(a.memory); }
  static stream_ref stream(gpu_array& a) noexcept { return a.work; }
};
// [/array]

namespace {

bool same(dlbridge::managed_tensor const& a, std::vector<float> const& b) {
  dlbridge::tensor_span<float const, dlbridge::shape<dlbridge::dynamic_extent>> const elements(a);
  bool is_same = elements.extent(0) == static_cast<std::int64_t>(b.size());
  for (std::int64_t i = 0; is_same && i < elements.extent(0); ++i) {
    is_same = elements(i) == b[static_cast<std::size_t>(i)];
  }
  return is_same;
}

int run(dlbridge::device gpu) {
  std::vector<float> numbers{1, 2, 3, 4, 5, 6};
  // [move]
  dlbridge::managed_tensor const host = dlbridge::build(dlbridge::borrow(numbers));
  dlbridge::stream_ref const stream = dlbridge::stream_ref::default_of(gpu);
  dlbridge::managed_tensor there = dlbridge::transfer(host.view(), gpu, stream);
  dlbridge::managed_tensor back = dlbridge::transfer(there.view(), dlbridge::cpu, stream);
  // [/move]
  if (there.view().device() != gpu || !same(back, numbers)) {
    return 1;
  }
  gpu_array array{std::move(there), stream};
  // [order]
  // The consumer's stream waits for the array's stream. The host waits for neither.
  dlbridge::stream_ref const consumer = stream;
  dlbridge::order_after(consumer, dlbridge::ready_on(array, gpu));
  dlbridge::managed_tensor exported = dlbridge::build(std::move(array));
  // [/order]
  // [async]
  // Returns at once. The tensor is ready on the stream, and frees its memory after the work of the
  // recorded stream.
  dlbridge::shared_tensor const owner(dlbridge::build(std::vector<float>(numbers)));
  dlbridge::managed_tensor const later =
      dlbridge::transfer_async(owner, owner.get().view(), gpu, stream);
  if (!dlbridge::try_record_stream(later, consumer)) {
    dlbridge::host_wait(consumer);
  }
  // [/async]
  dlbridge::host_wait(stream);
  dlbridge::managed_tensor const last = dlbridge::transfer(later.view(), dlbridge::cpu, stream);
  if (!same(last, numbers)) {
    return 1;
  }
  return exported.view().device() == gpu ? 0 : 1;
}

}  // namespace

int main() {
  int failures = 0;
  // [absent]
  if (dlbridge::cuda() == nullptr) {
    std::puts(dlbridge::message(dlbridge::cuda_status()).c_str());
  }
  // [/absent]
  failures += dlbridge::cuda() != nullptr ? run(dlbridge::device(kDLCUDA, 0)) : 0;
  failures += dlbridge::hip() != nullptr ? run(dlbridge::device(kDLROCM, 0)) : 0;
  std::puts(failures == 0 ? "done" : "a check failed");
  return failures;
}
