// SPDX-License-Identifier: BSD-3-Clause
// Elements of a const type cannot be written.
// says: deleted
#include <dlbridge/tensor.hpp>

void use(dlbridge::tensor_span<float const> to_read, dlbridge::tensor_span<float> to_write) {
#ifdef WRONG
  dlbridge::tensor_span<float> const span(to_read);
#else
  dlbridge::tensor_span<float const> const span(to_write);
#endif
  static_cast<void>(span);
  static_cast<void>(to_read);
}
