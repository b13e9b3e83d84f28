// The bodies of object_owner.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/object_owner.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
DLBRIDGE_API object_owner& object_owner::operator=(object_owner other) noexcept {
  std::swap(object_, other.object_);
  return *this;
}
}  // namespace python
DLBRIDGE_END_NAMESPACE
