// SPDX-License-Identifier: BSD-3-Clause
// The view would refer to the tensor in a variant that is destroyed at once.
// says: the view of a temporary tensor would dangle
#include <variant>

#include <dlbridge/broadcast.hpp>
#include <dlbridge/managed_tensor.hpp>

using operand = std::variant<float, dlbridge::managed_tensor>;
operand make();

void use() {
#ifdef WRONG
  auto const x = dlbridge::broadcast_to<float>(make(), {2, 3});
#else
  operand const made = make();
  auto const x = dlbridge::broadcast_to<float>(made, {2, 3});
#endif
  static_cast<void>(x);
}
