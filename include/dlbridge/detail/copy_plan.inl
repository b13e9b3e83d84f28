// The inline bodies of copy_plan.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/detail/copy_plan.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
template <class Body>
void for_each_offset(copy_plan const& plan, int outer,
                     Body const& body) noexcept(noexcept(body(std::int64_t{}, std::int64_t{}))) {
  std::int64_t index[max_rank];
  for (int i = 0; i < outer; ++i) {
    index[i] = 0;
  }
  std::int64_t source = plan.source;
  std::int64_t destination = plan.destination;
  for (;;) {
    body(source, destination);
    int i = outer - 1;
    for (; i >= 0; --i) {
      copy_dimension const& d = plan.dimensions[i];
      if (++index[i] < d.extent) {
        source += d.source;
        destination += d.destination;
        break;
      }
      source -= d.source * (d.extent - 1);
      destination -= d.destination * (d.extent - 1);
      index[i] = 0;
    }
    if (i < 0) {
      return;
    }
  }
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE
