// as_immutable: marks the tensor of a library whose arrays never change as read-only.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>

#include <dlbridge/builder.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/python/error.hpp>
#include <dlbridge/python/interpreter.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {
namespace detail {
// The owner of a tensor that as_immutable returned.
struct immutable_array {
  managed_tensor imported;
};

/// Marks a tensor as read-only: most of these libraries export legacy structs, which have no flag.
/// @return a tensor on the same memory; empty, with an exception set, when there is no memory.
/// @par Ownership
/// Takes m; on failure m is freed.
DLBRIDGE_COLD inline managed_tensor as_immutable(managed_tensor m) noexcept {
  managed_tensor marked;
  guarded([&] {
    description d = describe_view(m.view());
    d.flags |= flag_read_only;
    marked = build_on(immutable_array{std::move(m)}, d);
  });
  return marked;
}

/// The tensor as the library exported it, or null for one that as_immutable did not return. The
/// library hands out legacy structs of such a tensor, and so may dlbridge.
inline managed_tensor const* find_immutable(managed_tensor const& m) noexcept {
  immutable_array const* const owner = dlbridge::detail::find_owner<immutable_array>(m);
  return owner != nullptr ? &owner->imported : nullptr;
}
}  // namespace detail
}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
