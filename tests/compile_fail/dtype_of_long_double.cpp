// SPDX-License-Identifier: BSD-3-Clause
// The layout of long double depends on the platform, so it has no dtype.
// says: this element type has no DLPack dtype
#include <dlbridge/dtype.hpp>

#ifdef WRONG
using element = long double;
#else
using element = double;
#endif

constexpr dlbridge::dtype type = dlbridge::dtype_of<element>();
