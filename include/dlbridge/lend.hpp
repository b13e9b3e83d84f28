// lend: a managed tensor on memory that a shared tensor owns, without copying its description.
// layer: arrays · OUT: when a tensor that came in goes out again
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
// The managed struct and the share that its deleter drops. Shape and strides are the owner's.
template <class Managed>
struct lent {
  Managed managed;
  shared_tensor owner;

  static managed_tensor make(shared_tensor&& owner, tensor_view const& view) {
    auto* const made = new (std::nothrow) lent{Managed(), std::move(owner)};
    if (made == nullptr) {
      raise_no_memory();
    }
    Managed& m = made->managed;
    m.manager_ctx = made;
    m.deleter = [](Managed* self) { delete static_cast<lent*>(self->manager_ctx); };
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

/// A managed tensor on what a view shows of a shared tensor, its shape and strides included. Not
/// marked is_copied, whatever the view says: its consumer is not the sole owner (spec 1.8).
/// owns: the share. thread and GIL: the deleter needs neither.
/// fails: read_only (legacy and refuse), version_mismatch (padded), out_of_memory.
inline managed_tensor lend(shared_tensor owner, tensor_view const& view, struct_kind kind,
                           read_only_policy policy = read_only_policy::refuse) {
  if (view.rank() != 0 && view.strides() == nullptr) {  // to be written out, as 1.2 demands
    description d = describe_view(view);
    d.flags &= ~flag_is_copied;
    return build_on(std::move(owner), d, kind, policy);
  }
  if (kind == struct_kind::versioned) {
    return detail::lent<DLManagedTensorVersioned>::make(std::move(owner), view);
  }
  detail::require_legacy(view.dtype(), view.flags(), policy);
  return detail::lent<DLManagedTensor>::make(std::move(owner), view);
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
