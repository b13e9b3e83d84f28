// SPDX-License-Identifier: BSD-3-Clause
// build moves its argument. A const array cannot be moved, and build does not copy it implicitly.
// says: build takes the array over. Move one that is not const
#include <dlbridge/bridges/std.hpp>
#include <dlbridge/build.hpp>

#ifdef WRONG
using array = std::vector<float> const;
#else
using array = std::vector<float>;
#endif

dlbridge::managed_tensor use(array a) { return dlbridge::build(std::move(a)); }
