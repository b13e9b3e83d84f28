// lend: exports a view of a shared tensor as a managed tensor, without a copy of its shape.
// layer: arrays
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/build.hpp>
#include <dlbridge/detail/owned_block.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/shared_tensor.hpp>
#include <dlbridge/tensor_view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace detail {
// Writes a view to a struct whose deleter and context are set. Shape and strides are those of the
// view.
template <class Managed>
DLBRIDGE_INLINE managed_tensor lend_in(Managed& m, tensor_view const& view) noexcept {
  if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) {
    m.version = {stated_major, stated_minor};
    m.flags = view.flags() & ~flag_is_copied;
  }
  m.dl_tensor = view.to_dltensor();
  if (view.rank() == 0) {
    m.dl_tensor.shape = nullptr;
    m.dl_tensor.strides = nullptr;
  }
  canonicalize_data(m.dl_tensor);
  return managed_tensor::adopt(&m);
}

template <class Managed>
managed_tensor lend_in_block(shared_tensor const& owner, tensor_view const& view) {
  return lend_in(owned_block<Managed, shared_tensor>::make(owner, 0)->managed, view);
}
}  // namespace detail

/// Exports a view of a shared tensor.
///
/// @param owner The shared tensor.
/// @param view A view of its memory, whose shape and strides are valid as long as the owner.
/// @param kind The struct kind.
/// @param policy How to export read-only memory as a legacy tensor.
/// @return The tensor, with the flags of the view except flag_is_copied, because the consumer is
///   not the only owner (spec 1.8).
/// @throws error null_data (the owner is empty), read_only (legacy, and policy is refuse),
///   version_mismatch (legacy, and padded sub-byte elements), out_of_memory.
///
/// @par Ownership
/// The result shares the owner.
///
/// @par Thread and GIL
/// The deleter needs neither a certain thread nor the GIL.
inline managed_tensor lend(shared_tensor const& owner, tensor_view const& view, struct_kind kind,
                           read_only_policy policy = read_only_policy::refuse) {
  if (!owner) {
    raise(detail::empty_owner());
  }
  if (view.rank() != 0 && view.strides() == nullptr) {  // build_on writes them (spec 1.7)
    description d = describe_view(view);
    d.flags &= ~flag_is_copied;
    return build_on(shared_tensor(owner), d, kind, policy);
  }
  if (kind == struct_kind::versioned) {
    DLManagedTensorVersioned* const reserved = owner.try_reserve();
    return reserved != nullptr ? detail::lend_in(*reserved, view)
                               : detail::lend_in_block<DLManagedTensorVersioned>(owner, view);
  }
  detail::require_legacy(view.dtype(), view.flags(), policy);
  return detail::lend_in_block<DLManagedTensor>(owner, view);
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
