// SPDX-License-Identifier: BSD-3-Clause
// as creates views. A std::vector owns its elements and cannot be one; an mdspan can.
// says: as<T> has no view_traits for this type
#include <dlbridge/as.hpp>

#include <vector>

#include "../unit/tiny_mdspan.hpp"

#ifdef WRONG
using vector = std::vector<float>;
#else
using vector = tiny::mdspan<float const, tiny::extents<int, tiny::dynamic_extent> >;
#endif

void use(dlbridge::tensor_view const& view) {
  vector const elements = dlbridge::as<vector>(view);
  static_cast<void>(elements);
}
