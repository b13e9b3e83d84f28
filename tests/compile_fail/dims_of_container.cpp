// SPDX-License-Identifier: BSD-3-Clause
// Extents are no container: dims::from copies one.
// says: extents and strides are not a container. Write dims::from
#include <dlbridge/array_traits.hpp>

#include <cstdint>
#include <vector>

dlbridge::description use(float* data, std::vector<std::int64_t> const& shape) {
#ifdef WRONG
  return dlbridge::description::of(data, shape);
#else
  return dlbridge::description::of(data, dlbridge::dims::from(shape.data(), shape.size()));
#endif
}
