// SPDX-License-Identifier: BSD-3-Clause
// A converted parameter is a copy where the dtype differs, so a function cannot write through it.
// says: a converted tensor is T const, as what a function writes to a copy is lost
#include <dlbridge/tensor.hpp>

#ifdef WRONG
using element = float;
#else
using element = float const;
#endif

auto first(dlbridge::tensor_span<element, dlbridge::dynamic_rank, dlbridge::converted> const& x) {
  return x.data();
}
