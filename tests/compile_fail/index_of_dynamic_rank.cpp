// SPDX-License-Identifier: BSD-3-Clause
// The number of indices must be known at compile time.
// says: indexing needs a static rank. Write tensor_span<T, shape<...>>
#include <dlbridge/tensor.hpp>

#ifdef WRONG
using rank = dlbridge::dynamic_rank;
#else
using rank = dlbridge::shape<dlbridge::dynamic_extent>;
#endif

float use(dlbridge::tensor_span<float, rank> x) { return x(1); }
