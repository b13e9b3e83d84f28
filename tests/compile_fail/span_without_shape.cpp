// SPDX-License-Identifier: BSD-3-Clause
// The shape stands before the constraints.
// says: the second template argument is shape<...> or dynamic_rank. Write
#include <dlbridge/tensor.hpp>

#ifdef WRONG
using span = dlbridge::tensor_span<float const, dlbridge::row_major>;
#else
using span = dlbridge::tensor_span<float const, dlbridge::dynamic_rank, dlbridge::row_major>;
#endif

float const* use(span const& x) { return x.data(); }
