// SPDX-License-Identifier: BSD-3-Clause
// An mdspan of a temporary owner would dangle.
// says: dangles: keep it in a variable
#include <dlbridge/as.hpp>

#include "../unit/tiny_mdspan.hpp"

using vector = tiny::mdspan<float const, tiny::extents<int, tiny::dynamic_extent>>;
dlbridge::managed_tensor make();

void use() {
  dlbridge::managed_tensor const owner = make();
#ifdef WRONG
  vector const view = dlbridge::as<vector>(make());
#else
  vector const view = dlbridge::as<vector>(owner);
#endif
  static_cast<void>(view);
}
