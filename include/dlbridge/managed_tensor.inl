// The inline bodies of managed_tensor.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>

#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/validate.hpp>

DLBRIDGE_BEGIN_NAMESPACE

inline managed_tensor& managed_tensor::operator=(managed_tensor&& other) noexcept {
  managed_tensor old(std::move(other));
  swap(old);
  return *this;
}

inline managed_tensor::~managed_tensor() {
  std::uintptr_t const bits = std::exchange(bits_, 0);  // the deleter may use this object
  if (bits != 0) {
    free_guarded(bits);
  }
}

template <class Managed>
inline managed_tensor managed_tensor::steal(Managed* raw) {
  report why;
  managed_tensor owned = try_steal(raw, why);
  if (!why.ok()) {
    raise(why);
  }
  return owned;
}

template <class Managed>
inline managed_tensor managed_tensor::try_steal(Managed* raw, report& why) noexcept {
  static_assert(!std::is_void_v<Managed>,
                "dlbridge: steal takes a DLManagedTensorVersioned* or a DLManagedTensor*. Cast "
                "the pointer to the type of the struct");
  constexpr bool has_deleter =
      !std::is_void_v<Managed> && !std::is_same_v<std::remove_cv_t<Managed>, DLTensor>;
  static_assert(has_deleter,
                "dlbridge: a plain DLTensor has no deleter, so nothing can own it. View it by "
                "view_of, or copy that view by copy_of");
  managed_tensor owned;
  if constexpr (has_deleter) {
    owned = adopt(raw);
    if (raw != nullptr && !owned.is_readable(why)) {
      owned = managed_tensor();
    }
  }
  return owned;
}

inline void managed_tensor::reset() noexcept {
  std::uintptr_t const bits = std::exchange(bits_, 0);  // the deleter may use this object
  if (bits != 0) {
    (bits & legacy_bit) != 0 ? call_deleter(legacy_at(bits)) : call_deleter(versioned_at(bits));
  }
}

inline dlbridge::version managed_tensor::version() const noexcept {
  return (bits_ & legacy_bit) != 0 ? dlbridge::version{}
                                   : dlbridge::version{versioned_at(bits_)->version.major,
                                                       versioned_at(bits_)->version.minor};
}

template <class Managed>
inline void managed_tensor::call_deleter(Managed* raw) noexcept {
  using c_function = void (*)(Managed*) noexcept;
  if (raw->deleter != nullptr) {
    reinterpret_cast<c_function>(raw->deleter)(raw);
  }
}

template <class Managed>
inline void managed_tensor::call_guarded(Managed* raw) {
  if (raw->deleter != nullptr) {
    detail::call_guarded([raw] { raw->deleter(raw); });
  }
}

inline bool managed_tensor::is_readable(report& why) const noexcept {
  if (kind() == struct_kind::versioned && !readable(version())) {
    why = unreadable(version());
    return false;
  }
  detail::flaw const flaw = detail::find_flaw(tensor());
  if (flaw != detail::flaw::none) {
    why = detail::explain(flaw, tensor());
    return false;
  }
  return true;
}

namespace detail {
managed_tensor const& require_owner(managed_tensor const& owner) {
  if (!owner) {
    raise(empty_owner());
  }
  return owner;
}
}  // namespace detail

inline managed_tensor::operator tensor_view() const& { return detail::require_owner(*this).view(); }

DLBRIDGE_END_NAMESPACE
