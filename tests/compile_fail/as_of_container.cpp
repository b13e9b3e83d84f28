// A container cannot look at the memory of others; an mdspan can.
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
  vector const seen = dlbridge::as<vector>(view);
  static_cast<void>(seen);
}
