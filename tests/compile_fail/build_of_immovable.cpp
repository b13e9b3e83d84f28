// SPDX-License-Identifier: BSD-3-Clause
// build moves the array. The error for a type that cannot be moved names the remedy.
// says: no move constructor. Add one, or share the array, build.std::make_shared<T>
#include <dlbridge/bridges/std.hpp>
#include <dlbridge/build.hpp>

#include <memory>

struct image {
  image() = default;
  image(image const&) = delete;
  float pixels[4] = {};
};
template <>
struct dlbridge::array_traits<image> {
  static description describe(image& i) noexcept { return description::of(i.pixels, {4}); }
};

dlbridge::managed_tensor use() {
#ifdef WRONG
  return dlbridge::build(image());
#else
  return dlbridge::build(std::make_shared<image>());
#endif
}
