// SPDX-License-Identifier: BSD-3-Clause
// A broadcast_span stores a number, of which a temporary one would dangle.
// says: dangles: keep the span in a variable
#include <dlbridge/broadcast.hpp>

void use() {
  auto const ones = dlbridge::broadcast_to<float>(1, {3});
#ifdef WRONG
  float const* const data = dlbridge::broadcast_to<float>(1, {3}).data();
#else
  float const* const data = ones.data();
#endif
  static_cast<void>(data);
}
