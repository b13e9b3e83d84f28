// The bodies of import_request.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/python/api.hpp>
#include <dlbridge/python/detail/device_operations.hpp>
#include <dlbridge/python/import/import_request.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
DLBRIDGE_API bool stays_on_host(device where, device target) noexcept {
  return is_host_accessible(where) &&
         (target == cpu || (is_on_device(where, target) && !can_copy_in_kind(where)));
}

DLBRIDGE_NOINLINE DLBRIDGE_API report refused_move(device where, import_request const& request,
                                                   bool is_own) noexcept {
  bool const asks = is_own || request.copy != copy_policy::never;  // which may load a driver
  report const why = asks ? check_move(where, request.target) : report{};
  if (forbids_move(request.copy, where, request.target, why)) {
    return stays_on_host(where, request.target) ? report{} : forbidden_move(where, request.target);
  }
  return is_own && !lacks_driver(why) ? report{} : why;  // a Tensor has stated why itself
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
