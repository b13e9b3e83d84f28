// SPDX-License-Identifier: BSD-3-Clause
// A view frees no memory. build_on takes its owner, and borrows states that the caller keeps it.
// says: a view frees no memory, so that a tensor built of it would dangle. Name the owner
#include <dlbridge/bridges/std.hpp>
#include <dlbridge/build.hpp>

#include <memory>
#include <utility>
#include <vector>

template <bool Borrows>
struct view {
  float* data() const { return first; }
  float* first;
};
template <bool Borrows>
struct dlbridge::array_traits<view<Borrows>> {
  static constexpr bool borrows = Borrows;
  static description describe(view<Borrows>& v) noexcept { return description::of(v.data(), {4}); }
};

void use(std::vector<float> v) {
  view<false> of{v.data()};
#ifdef WRONG
  static_cast<void>(dlbridge::build(std::make_shared<view<false>>(of)));
  static_cast<void>(dlbridge::build(std::move(of)));
#else
  static_cast<void>(dlbridge::build(view<true>{v.data()}));
  static_cast<void>(dlbridge::build_on(std::move(v), dlbridge::describe(of)));
#endif
}
