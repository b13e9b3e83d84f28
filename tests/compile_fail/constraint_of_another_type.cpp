// SPDX-License-Identifier: BSD-3-Clause
// A type that is no constraint would otherwise constrain nothing.
// says: a constraint is row_major, column_major, compact, on<...>
#include <dlbridge/tensor.hpp>

#ifdef WRONG
using layout = int;
#else
using layout = dlbridge::row_major;
#endif

float use(dlbridge::tensor_span<float const, dlbridge::shape<2>, layout> x) { return x(0); }
