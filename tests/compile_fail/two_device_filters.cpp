// SPDX-License-Identifier: BSD-3-Clause
// A tensor has one device type.
// says: a tensor has one of on<...>, on_host
#include <dlbridge/tensor.hpp>

using dlbridge::dynamic_rank;

void use(dlbridge::tensor_view const& view) {
#ifdef WRONG
  dlbridge::tensor_span<float, dynamic_rank, dlbridge::on_cuda, dlbridge::on_rocm> const x(view);
#else
  dlbridge::tensor_span<float, dynamic_rank, dlbridge::on_cuda> const x(view);
#endif
  static_cast<void>(x);
}
