// SPDX-License-Identifier: BSD-3-Clause
// The name of an extent is a letter.
// says: an extent is dynamic_extent, named<'n'> with a letter, 0 or above
#include <dlbridge/tensor.hpp>

#ifdef WRONG
constexpr char name = '1';
#else
constexpr char name = 'n';
#endif

void use(dlbridge::tensor_view const& view) {
  dlbridge::tensor_span<float const, dlbridge::shape<dlbridge::named<name>>> const s{view};
  static_cast<void>(s);
}
