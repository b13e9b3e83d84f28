// SPDX-License-Identifier: BSD-3-Clause
// A tensor has one order of dimensions.
// says: a tensor has one of row_major, column_major and compact
#include <dlbridge/tensor.hpp>

using dlbridge::dynamic_rank;

void use(dlbridge::tensor_view const& view) {
#ifdef WRONG
  dlbridge::tensor_span<float, dynamic_rank, dlbridge::row_major, dlbridge::compact> const x(view);
#else
  dlbridge::tensor_span<float, dynamic_rank, dlbridge::row_major> const x(view);
#endif
  static_cast<void>(x);
}
