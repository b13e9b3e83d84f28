// The inline bodies of produce.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/export/produce.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
template <class Build>
managed_tensor build_for_consumer(Build&& function) {
  try {
    return function();
  } catch (error const& refused) {
    detail::raise_to_consumer(refused.why());
  }
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
