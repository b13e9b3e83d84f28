// SPDX-License-Identifier: BSD-3-Clause
// Only numbers and tensors broadcast.
// says: broadcast_to takes numbers, tensors and variants of them
#include <dlbridge/broadcast.hpp>

#ifdef WRONG
constexpr char const* operand = "1";
#else
constexpr int operand = 1;
#endif

auto const x = dlbridge::broadcast_to<float>(operand, {2, 3});
