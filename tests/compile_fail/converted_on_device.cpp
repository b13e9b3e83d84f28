// SPDX-License-Identifier: BSD-3-Clause
// The CPU converts the elements, so that a parameter on another device cannot be converted.
// says: only the CPU converts tensors
#include <dlbridge/tensor.hpp>

#ifdef WRONG
using where = dlbridge::on_cuda;
#else
using where = dlbridge::anywhere;
#endif

auto first(dlbridge::tensor_span<float const, dlbridge::dynamic_rank, dlbridge::converted,
                                 where> const& x) {
  return x.data();
}
