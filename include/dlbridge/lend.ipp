// The bodies of lend.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <dlbridge/detail/owned_block.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/lend.hpp>

DLBRIDGE_BEGIN_NAMESPACE
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

DLBRIDGE_API managed_tensor lend(shared_tensor const& owner, tensor_view const& view,
                                 struct_kind kind, read_only_policy policy) {
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

DLBRIDGE_END_NAMESPACE
