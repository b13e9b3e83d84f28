// SPDX-License-Identifier: BSD-3-Clause
// An initializer_list that is a variable is a container without data(): dims::from copies it, too.
// says: extents and strides are not a container. Write dims::from
#include <dlbridge/array_traits.hpp>

#include <cstdint>
#include <initializer_list>

dlbridge::dims use(std::initializer_list<std::int64_t> shape) {
#ifdef WRONG
  return dlbridge::dims(shape);
#else
  return dlbridge::dims::from(shape.begin(), shape.size());
#endif
}
