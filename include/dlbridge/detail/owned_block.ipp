// The bodies of owned_block.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/detail/owned_block.hpp>
#include <dlbridge/error.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
DLBRIDGE_NOINLINE DLBRIDGE_API void raise_no_memory() {
  raise(refusal(errc::out_of_memory, "memory for a managed tensor", "none"));
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE
