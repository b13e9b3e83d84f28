// SPDX-License-Identifier: BSD-3-Clause
// Copies are converted to real dtypes only.
// says: a tensor is converted to a real dtype
#include <dlbridge/convert.hpp>
#include <dlbridge/types/complex.hpp>

#ifdef WRONG
using element = std::complex<float>;
#else
using element = double;
#endif

dlbridge::managed_tensor convert(dlbridge::tensor_view const& x) {
  return dlbridge::converted_copy_of<element>(x);
}
