// SPDX-License-Identifier: BSD-3-Clause
// A tensor has at most 64 dimensions.
// says: a tensor has at most 64 dimensions
#include <dlbridge/tensor.hpp>

#include <cstdint>
#include <utility>

template <std::size_t... Is>
auto shape_of(std::index_sequence<Is...>)
    -> dlbridge::shape<(static_cast<void>(Is), std::int64_t{1})...>;

#ifdef WRONG
using ones = decltype(shape_of(std::make_index_sequence<65>()));
#else
using ones = decltype(shape_of(std::make_index_sequence<64>()));
#endif

void use(dlbridge::tensor_view const& view) {
  dlbridge::tensor_span<float const, ones> const s{view};
  static_cast<void>(s);
}
