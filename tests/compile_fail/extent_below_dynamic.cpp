// SPDX-License-Identifier: BSD-3-Clause
// Every extent is dynamic_extent, 0 or above, not only the first one.
// says: an extent is dynamic_extent, named<'n'> with a letter, 0 or above
#include <dlbridge/tensor.hpp>

#ifdef WRONG
constexpr std::int64_t last = -2;
#else
constexpr std::int64_t last = dlbridge::dynamic_extent;
#endif

void use(dlbridge::tensor_view const& view) {
  using rows = dlbridge::shape<dlbridge::dynamic_extent, last>;
  dlbridge::tensor_span<float const, rows> const s{view};
  static_cast<void>(s);
}
