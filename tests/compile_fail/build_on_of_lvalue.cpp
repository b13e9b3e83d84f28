// SPDX-License-Identifier: BSD-3-Clause
// build_on moves the owner into the tensor.
// says: build_on takes the owner over. Move one that is not const, or pass no_owner
#include <dlbridge/build.hpp>

#include <memory>
#include <utility>

dlbridge::managed_tensor use(std::shared_ptr<float> owner) {
  dlbridge::description const memory = dlbridge::description::of(owner.get(), {1});
#ifdef WRONG
  return dlbridge::build_on(owner, memory);
#else
  return dlbridge::build_on(std::move(owner), memory);
#endif
}
