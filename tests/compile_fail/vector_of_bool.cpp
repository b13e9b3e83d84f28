// SPDX-License-Identifier: BSD-3-Clause
// The elements of std::vector<bool> are bits without addresses.
// says: std::vector<bool> has no elements in memory
#include <dlbridge/bridges/std.hpp>
#include <dlbridge/build.hpp>

#ifdef WRONG
using element = bool;
#else
using element = char;
#endif

dlbridge::managed_tensor use() { return dlbridge::build(std::vector<element>(3)); }
