// SPDX-License-Identifier: BSD-3-Clause
// Converted parameters receive real numbers.
// says: a tensor is converted to integers or floats
#include <dlbridge/tensor.hpp>
#include <dlbridge/types/complex.hpp>

#ifdef WRONG
using element = std::complex<float> const;
#else
using element = float const;
#endif

auto first(dlbridge::tensor_span<element, dlbridge::dynamic_rank, dlbridge::converted> const& x) {
  return x.data();
}
