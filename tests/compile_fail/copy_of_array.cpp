// SPDX-License-Identifier: BSD-3-Clause
// copy_of copies a tensor; build_on makes one of an array that the caller keeps.
// says: keep t = build_on\(no_owner\{\}, describe\(array\)\)
#include <dlbridge/bridges/std.hpp>
#include <dlbridge/build.hpp>
#include <dlbridge/copy.hpp>

#include <vector>

dlbridge::managed_tensor use(std::vector<float>& array) {
#ifdef WRONG
  return dlbridge::copy_of(array);
#else
  auto const t = dlbridge::build_on(dlbridge::no_owner{}, dlbridge::describe(array));
  return dlbridge::copy_of(t);
#endif
}
