// SPDX-License-Identifier: BSD-3-Clause
// The view would refer to a tensor that is freed at once.
// says: the view of a temporary tensor would dangle
#include <dlbridge/broadcast.hpp>
#include <dlbridge/managed_tensor.hpp>

dlbridge::managed_tensor make();

void use() {
#ifdef WRONG
  auto const x = dlbridge::broadcast_to<float>(make(), {2, 3});
#else
  dlbridge::managed_tensor const made = make();
  auto const x = dlbridge::broadcast_to<float>(made, {2, 3});
#endif
  static_cast<void>(x);
}
