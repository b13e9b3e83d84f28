// The inline bodies of owned_block.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <type_traits>

#include <dlbridge/detail/describe_block.hpp>
#include <dlbridge/detail/owned_block.hpp>
#include <dlbridge/layout.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
template <class Managed, class Owner, class Pool>
template <class Source>
inline owned_block<Managed, Owner, Pool>* owned_block<Managed, Owner, Pool>::make(Source&& owner,
                                                                                  int rank) {
  owned_block* const block = try_make(std::forward<Source>(owner), rank);
  if (block == nullptr) {
    raise_no_memory();
  }
  return block;
}

template <class Managed, class Owner, class Pool>
inline void owned_block<Managed, Owner, Pool>::operator delete(void* memory) noexcept {
  if (Pool::put(memory)) {
    return;
  }
  if constexpr (is_over_aligned()) {
    ::operator delete(memory, std::align_val_t{alignof(owned_block)});
  } else {
    ::operator delete(memory);
  }
}

template <class Managed, class Owner, class Pool>
template <class Source>
inline owned_block<Managed, Owner, Pool>::owned_block(Source&& from)
    : owner(std::forward<Source>(from)) {
  managed.manager_ctx = this;
  managed.deleter = &destroy;
}

template <class Managed, class Owner, class Pool>
inline void* owned_block<Managed, Owner, Pool>::operator new(std::size_t bytes,
                                                             room dims) noexcept {
  bytes += 2 * dims.rank * sizeof(std::int64_t);
  void* const used = bytes <= Pool::bytes ? Pool::take() : nullptr;
  if (used != nullptr) {
    return used;
  }
  constexpr std::size_t least = Pool::bytes;  // std::max would refer to the member itself
  bytes = (std::max)(bytes, least);
  if constexpr (is_over_aligned()) {
    return ::operator new(bytes, std::align_val_t{alignof(owned_block)}, std::nothrow);
  } else {
    return ::operator new(bytes, std::nothrow);
  }
}

template <class Owner>
Owner* find_owner(managed_tensor const& tensor) noexcept {
  auto const find = [](auto* raw) {
    using block = owned_block<std::remove_pointer_t<decltype(raw)>, Owner>;
    return raw != nullptr && raw->deleter == &block::destroy
               ? &static_cast<block*>(raw->manager_ctx)->owner
               : nullptr;
  };
  return tensor.kind() == struct_kind::versioned ? find(tensor.get_versioned())
                                                 : find(tensor.get_legacy());
}

template <class Pool, class Owner>
managed_tensor own_copied(Owner&& owner, DLTensor const& from, std::uint64_t flags,
                          version stated) noexcept {
  auto* const block =
      owned_block<DLManagedTensorVersioned, Owner, Pool>::try_make(std::move(owner), from.ndim);
  if (block == nullptr) {
    return managed_tensor();
  }
  std::int64_t* const shape = block->dims();
  std::int64_t* const strides = shape + from.ndim;
  copy_extents(from.shape, from.ndim, shape);
  if (from.strides != nullptr) {
    copy_extents(from.strides, from.ndim, strides);
  } else {
    fill_row_major(from.ndim, shape, strides);
  }
  DLManagedTensorVersioned& m = block->managed;
  m.version = {stated.major_number, stated.minor_number};
  m.flags = flags;
  m.dl_tensor = from;
  m.dl_tensor.shape = from.ndim != 0 ? shape : nullptr;
  m.dl_tensor.strides = from.ndim != 0 ? strides : nullptr;
  canonicalize_data(m.dl_tensor);
  return managed_tensor::adopt(&m);
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE
