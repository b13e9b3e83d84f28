// The bodies of managed_tensor.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/managed_tensor.hpp>

DLBRIDGE_BEGIN_NAMESPACE

DLBRIDGE_API DLManagedTensorVersioned* managed_tensor::get_versioned() const noexcept {
  return (bits_ & legacy_bit) == 0 ? versioned_at(bits_) : nullptr;
}

DLBRIDGE_API DLManagedTensor* managed_tensor::get_legacy() const noexcept {
  return (bits_ & legacy_bit) != 0 ? legacy_at(bits_) : nullptr;
}

DLBRIDGE_API DLManagedTensorVersioned* managed_tensor::release_versioned() noexcept {
  DLManagedTensorVersioned* const raw = get_versioned();
  bits_ = raw != nullptr ? 0 : bits_;
  return raw;
}

DLBRIDGE_API DLManagedTensor* managed_tensor::release_legacy() noexcept {
  DLManagedTensor* const raw = get_legacy();
  bits_ = raw != nullptr ? 0 : bits_;
  return raw;
}

DLBRIDGE_API DLManagedTensor* managed_tensor::legacy_at(std::uintptr_t bits) noexcept {
  return reinterpret_cast<DLManagedTensor*>(bits & ~legacy_bit);
}

DLBRIDGE_NOINLINE DLBRIDGE_API void managed_tensor::free_guarded(std::uintptr_t bits) {
  (bits & legacy_bit) != 0 ? call_guarded(legacy_at(bits)) : call_guarded(versioned_at(bits));
}

namespace detail {
DLBRIDGE_NOINLINE DLBRIDGE_API report empty_owner() noexcept {
  return refusal(errc::null_data, "an owner of a tensor", "an empty one");
}
}  // namespace detail
DLBRIDGE_END_NAMESPACE
