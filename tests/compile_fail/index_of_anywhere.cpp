// SPDX-License-Identifier: BSD-3-Clause
// Memory of the filter anywhere may be device memory, which the CPU cannot read.
// says: the CPU cannot index device memory. Copy the tensor to the host
#include <dlbridge/tensor.hpp>

#ifdef WRONG
using where = dlbridge::anywhere;
#else
using where = dlbridge::on<kDLCUDAManaged>;
#endif

float use(dlbridge::tensor_span<float, dlbridge::shape<dlbridge::dynamic_extent>, where> x) {
  return x(1);
}
