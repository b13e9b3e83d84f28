// The bodies of shared_tensor.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/error.hpp>
#include <dlbridge/shared_tensor.hpp>

DLBRIDGE_BEGIN_NAMESPACE

DLBRIDGE_API shared_tensor::shared_tensor(managed_tensor&& m, tensor_view& view)
    : block_(make(std::move(m), view.rank())) {
  std::int64_t* const shape = block_->dims();
  std::int64_t* const strides = shape + view.rank();
  for (int i = 0; i < view.rank(); ++i) {
    shape[i] = view.extent(i);
  }
  view.copy_strides(strides);
  view = view.with_dims(shape, strides);
}

DLBRIDGE_API shared_tensor::shared_tensor(shared_tensor const& other) noexcept
    : block_(other.block_) {
  if (block_ != nullptr) {
    block_->owner.uses.fetch_add(one_owner, std::memory_order_relaxed);
  }
}

DLBRIDGE_API shared_tensor& shared_tensor::operator=(shared_tensor other) noexcept {
  std::swap(block_, other.block_);
  return *this;
}

DLBRIDGE_API managed_tensor const& shared_tensor::get() const& noexcept {
  return block_->owner.tensor;
}

DLBRIDGE_API DLManagedTensorVersioned* shared_tensor::try_reserve() const noexcept {
  std::atomic<std::size_t>& counter = block_->owner.uses;
  std::size_t uses = counter.load(std::memory_order_relaxed);
  if ((uses & lent) != 0 ||
      !counter.compare_exchange_strong(uses, uses + one_owner + lent, std::memory_order_acquire)) {
    return nullptr;
  }
  DLManagedTensorVersioned& m = block_->managed;
  m.manager_ctx = block_;
  m.deleter = [](DLManagedTensorVersioned* self) {
    drop(static_cast<block*>(self->manager_ctx), one_owner + lent);
  };
  return &m;
}

DLBRIDGE_API shared_tensor::block* shared_tensor::make(managed_tensor&& m, int rank) {
  static_cast<void>(detail::require_owner(m));
  block* const made = block::try_make(std::move(m), rank);
  if (made == nullptr) {
    raise(refusal(errc::out_of_memory, "memory to share a tensor", "none"));
  }
  return made;
}

DLBRIDGE_API void shared_tensor::drop(block* from, std::size_t use) noexcept {
  if (from->owner.uses.fetch_sub(use, std::memory_order_acq_rel) == use) {
    delete from;
  }
}

DLBRIDGE_END_NAMESPACE
