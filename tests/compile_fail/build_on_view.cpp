// SPDX-License-Identifier: BSD-3-Clause
// A view owns nothing.
// says: the destructor of the owner frees the memory
#include <dlbridge/dlbridge.hpp>

#include <utility>

dlbridge::managed_tensor use(dlbridge::managed_tensor owner) {
  auto const memory = dlbridge::describe_view(owner.view());
#ifdef WRONG
  return dlbridge::build_on(owner.view(), memory);
#else
  return dlbridge::build_on(std::move(owner), memory);
#endif
}
