// SPDX-License-Identifier: BSD-3-Clause
// Floats would lose their fractions.
// says: extents and strides are integers
#include <dlbridge/array_traits.hpp>

#ifdef WRONG
using number = double;
#else
using number = long;
#endif

dlbridge::dims use(number const* extents) { return dlbridge::dims::from(extents, 2); }
