// SPDX-License-Identifier: BSD-3-Clause
// A std::shared_ptr of an array is exported, a std::unique_ptr is not.
// says: The array of a std::unique_ptr is shared, build\(std::shared_ptr<T>\(std::move\(p\)\)\)
#include <dlbridge/bridges/std.hpp>
#include <dlbridge/build.hpp>

#include <memory>
#include <utility>
#include <vector>

dlbridge::managed_tensor use(std::unique_ptr<std::vector<float> > p) {
#ifdef WRONG
  return dlbridge::build(std::move(p));
#else
  return dlbridge::build(std::shared_ptr<std::vector<float> >(std::move(p)));
#endif
}
