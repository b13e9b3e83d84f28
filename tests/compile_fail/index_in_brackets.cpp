// SPDX-License-Identifier: BSD-3-Clause
// Brackets have one index, before C++23.
// says: dlbridge: one index for each dimension\. Write x\(i, j\), or x\.at\(i, j\)
#include <dlbridge/tensor.hpp>

#ifdef WRONG
using shape_of_brackets = dlbridge::shape<3, 3>;
#else
using shape_of_brackets = dlbridge::shape<3>;
#endif

float use(dlbridge::tensor_span<float const, shape_of_brackets> x) { return x[0]; }
