// SPDX-License-Identifier: BSD-3-Clause
// The CPU must not dereference device memory.
// says: the CPU cannot index device memory. Copy the tensor to the host
#include <dlbridge/tensor.hpp>

#ifdef WRONG
using where = dlbridge::on_cuda;
#else
using where = dlbridge::on_host;
#endif

float use(dlbridge::tensor_span<float, dlbridge::shape<dlbridge::dynamic_extent>, where> x) {
  return x(1);
}
