// lend: exports a view of a shared tensor as a managed tensor, without copying shape and strides.
// layer: arrays · export: export of an imported tensor
#pragma once

#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/builder.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/shared.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace detail {
// A managed struct and the owner that its deleter destroys. Shape and strides are those of the
// owner.
template <class Managed>
struct lent_tensor {
  Managed managed;
  shared_tensor owner;

  static managed_tensor make(shared_tensor&& owner, tensor_view const& view) {
    auto* const result = new (std::nothrow) lent_tensor{Managed(), std::move(owner)};
    if (result == nullptr) {
      raise_no_memory();
    }
    Managed& m = result->managed;
    m.manager_ctx = result;
    m.deleter = [](Managed* self) { delete static_cast<lent_tensor*>(self->manager_ctx); };
    if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) {
      m.version = {stated_major, stated_minor};
      m.flags = view.flags() & ~flag_is_copied;
    }
    DLTensor& t = m.dl_tensor;
    t.data = const_cast<void*>(view.data());
    t.device = view.device().abi();
    t.ndim = view.rank();
    t.dtype = view.dtype().abi();
    t.shape = view.rank() == 0 ? nullptr : const_cast<std::int64_t*>(view.shape());
    t.strides = view.rank() == 0 ? nullptr : const_cast<std::int64_t*>(view.strides());
    t.byte_offset = view.byte_offset();
    canonicalize_data(t);
    return managed_tensor::adopt(&m);
  }
};
}  // namespace detail

/// Exports a view of a shared tensor.
///
/// @param owner The shared tensor.
/// @param view A view of its memory, whose shape and strides are valid as long as the owner.
/// @param kind The struct kind.
/// @param policy How to export read-only memory as a legacy tensor.
/// @return The tensor, with the flags of the view except flag_is_copied, because the consumer is
///   not the only owner (spec 1.8).
/// @throws error read_only (legacy, and policy is refuse), version_mismatch (legacy, and padded
///   sub-byte elements), out_of_memory.
///
/// @par Ownership
/// The result shares the owner.
///
/// @par Thread and GIL
/// The deleter needs neither a certain thread nor the GIL.
inline managed_tensor lend(shared_tensor owner, tensor_view const& view, struct_kind kind,
                           read_only_policy policy = read_only_policy::refuse) {
  if (view.rank() != 0 && view.strides() == nullptr) {  // build_on writes them (spec 1.7)
    description d = describe_view(view);
    d.flags &= ~flag_is_copied;
    return build_on(std::move(owner), d, kind, policy);
  }
  if (kind == struct_kind::versioned) {
    return detail::lent_tensor<DLManagedTensorVersioned>::make(std::move(owner), view);
  }
  detail::require_legacy(view.dtype(), view.flags(), policy);
  return detail::lent_tensor<DLManagedTensor>::make(std::move(owner), view);
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
