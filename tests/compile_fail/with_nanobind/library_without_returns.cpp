// SPDX-License-Identifier: BSD-3-Clause
// The library of the results is stated by returns.
// says: a library is no extra argument of def. Write dlbridge::returns
// lines: 48
#include <dlbridge/nanobind.hpp>

NB_MODULE(copies, m) {
  dlbridge::def(
      m, "copy", [](dlbridge::tensor<float const> const& x) { return dlbridge::copy_of(x.view()); },
#ifdef WRONG
      dlbridge::library::numpy);
#else
      dlbridge::returns{dlbridge::library::numpy});
#endif
}
