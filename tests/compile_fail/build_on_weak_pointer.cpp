// SPDX-License-Identifier: BSD-3-Clause
// A std::weak_ptr keeps nothing alive, although it has a destructor.
// says: the destructor of the owner frees the memory
#include <dlbridge/dlbridge.hpp>

#include <memory>
#include <utility>

dlbridge::managed_tensor use(std::shared_ptr<float> owner) {
  auto const memory = dlbridge::description::of(owner.get(), {1});
#ifdef WRONG
  return dlbridge::build_on(std::weak_ptr<float>(owner), memory);
#else
  return dlbridge::build_on(std::move(owner), memory);
#endif
}
