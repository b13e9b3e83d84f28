// managed_tensor: owns a managed tensor of either struct kind, and calls its deleter exactly once.
// layer: tensors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/exit_guard.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/version.hpp>

DLBRIDGE_BEGIN_NAMESPACE

/// The owner of a DLManagedTensor or a DLManagedTensorVersioned. It may be empty. It is as large as
/// a pointer: the lowest bit of the address encodes the struct kind.
/// @par Ownership
/// Move-only; a moved-from object is empty. The destructor calls the deleter of the tensor, unless
/// that is null (spec 1.2).
/// @par Thread and GIL
/// Objects are not synchronized. The deleter may run in any thread, with or without the GIL
/// (spec 3.3).
class managed_tensor {
 public:
  managed_tensor() noexcept = default;  ///< An empty owner.
  /// Takes the tensor of other, which is then empty.
  managed_tensor(managed_tensor&& other) noexcept : bits_(std::exchange(other.bits_, 0)) {}
  managed_tensor& operator=(managed_tensor&& other) noexcept;  ///< Frees the former tensor.
  template <class Managed, class = decltype(Managed::deleter)>
  managed_tensor(Managed*) = delete;  ///< managed_tensor::steal(raw) takes ownership, and validates
  managed_tensor(managed_tensor const&) = delete;
  managed_tensor& operator=(managed_tensor const&) = delete;
  ~managed_tensor();

  /// Takes ownership of a tensor from a producer, then validates it.
  /// @param raw The struct; null yields an empty owner.
  /// @return The owner.
  /// @throws error version_mismatch (the major version is unknown), or as check_tensor.
  /// @par Ownership
  /// The function takes ownership before the checks, and calls the deleter after a refusal. Of a
  /// struct with an unknown major version it reads only the version and the deleter (spec 2.1).
  template <class Managed>
  [[nodiscard]] static managed_tensor steal(Managed* raw);
  /// Takes ownership of a tensor and validates it, as steal, but reports a refusal in why.
  /// @param raw The struct; null yields an empty owner.
  /// @param[out] why The refusal; unchanged on success.
  /// @return The owner; empty after a refusal.
  template <class Managed>
  [[nodiscard]] static managed_tensor try_steal(Managed* raw, report& why) noexcept;
  /// Takes ownership of a tensor without checks. Null yields an empty owner.
  /// @pre The tensor is valid: dlbridge built it, or the caller has checked it.
  [[nodiscard]] static managed_tensor adopt(DLManagedTensorVersioned* raw) noexcept {
    DLBRIDGE_ASSUME((reinterpret_cast<std::uintptr_t>(raw) & legacy_bit) == 0);
    return managed_tensor(reinterpret_cast<std::uintptr_t>(raw));
  }
  /// Takes ownership of a legacy tensor without checks, in the same way.
  [[nodiscard]] static managed_tensor adopt(DLManagedTensor* raw) noexcept {
    DLBRIDGE_ASSUME((reinterpret_cast<std::uintptr_t>(raw) & legacy_bit) == 0);
    return managed_tensor(raw == nullptr ? 0 : reinterpret_cast<std::uintptr_t>(raw) | legacy_bit);
  }

  /// Whether this object owns a tensor.
  explicit operator bool() const noexcept { return bits_ != 0; }
  /// The kind of the struct; versioned if empty.
  struct_kind kind() const noexcept {
    return (bits_ & legacy_bit) != 0 ? struct_kind::legacy : struct_kind::versioned;
  }

  /// The versioned struct, or null if it has the other kind or if this owner is empty.
  /// @par Ownership
  /// Unchanged: this object still owns the struct.
  DLManagedTensorVersioned* get_versioned() const noexcept;
  DLManagedTensor* get_legacy() const noexcept;  ///< The legacy struct, in the same way.

  /// Releases the versioned struct without freeing it. to_versioned and to_legacy (build.hpp)
  /// convert to the required kind first.
  /// @return The struct, whose deleter the caller must call once. Null if the struct has the other
  ///   kind; this object then still owns it.
  [[nodiscard]] DLManagedTensorVersioned* release_versioned() noexcept;
  [[nodiscard]] DLManagedTensor* release_legacy() noexcept;  ///< The same of a legacy struct.

  /// Frees the tensor: calls its deleter unless that is null, and leaves this owner empty. The call
  /// is a tail call. Unlike the destructor it has no guard against the end of the thread in the
  /// deleter: where the finalization of Python may be under way, assign managed_tensor() instead.
  void reset() noexcept;
  void swap(managed_tensor& other) noexcept { std::swap(bits_, other.bits_); }  ///< Exchanges both.

  /// The DLTensor inside the struct.
  /// @pre The owner is not empty.
  DLTensor const& tensor() const& noexcept DLBRIDGE_LIFETIMEBOUND {
    return (bits_ & legacy_bit) != 0 ? legacy_at(bits_)->dl_tensor : versioned_at(bits_)->dl_tensor;
  }
  /// The flags of a versioned struct; 0 for a legacy struct, which has none.
  /// @pre The owner is not empty.
  std::uint64_t flags() const noexcept {
    return (bits_ & legacy_bit) != 0 ? 0 : versioned_at(bits_)->flags;
  }
  /// The version of a versioned struct; 0.0 for a legacy struct, which has none.
  /// @pre The owner is not empty.
  dlbridge::version version() const noexcept;

  /// The view of the tensor.
  /// @pre The owner is not empty: test it, or use the conversion, which throws.
  /// @par Lifetime
  /// Valid until the tensor is freed; moving the owner does not invalidate it.
  tensor_view view() const& noexcept DLBRIDGE_LIFETIMEBOUND {
    return tensor_view(tensor(), flags());
  }
  /// The view of the tensor, with a check.
  /// @throws error null_data (the owner is empty).
  operator tensor_view() const& DLBRIDGE_LIFETIMEBOUND;
  // The view of a temporary owner would dangle.
  DLTensor const& tensor() const&& = delete;  ///< dangles: keep it in a variable
  tensor_view view() const&& = delete;        ///< dangles: keep it in a variable
  operator tensor_view() const&& = delete;    ///< dangles: keep it in a variable

 private:
  static constexpr std::uintptr_t legacy_bit = 1;
  static_assert(alignof(DLManagedTensor) >= 2 && alignof(DLManagedTensorVersioned) >= 2,
                "dlbridge: the lowest bit of the address of a managed struct is 0");

  explicit managed_tensor(std::uintptr_t bits) noexcept : bits_(bits) {}
  static DLManagedTensorVersioned* versioned_at(std::uintptr_t bits) noexcept {
    return reinterpret_cast<DLManagedTensorVersioned*>(bits);
  }
  static DLManagedTensor* legacy_at(std::uintptr_t bits) noexcept;

  // A deleter is a C function and does not throw. With noexcept in the type of the pointer, the
  // compiler emits a tail call.
  template <class Managed>
  static void call_deleter(Managed* raw) noexcept;

  // The same under a guard, as a deleter of Python's memory may wait for the GIL. There is no tail
  // call; the code is out of line, so that compilers inline the destructor of an empty owner.
  static void free_guarded(std::uintptr_t bits);
  template <class Managed>
  static void call_guarded(Managed* raw);

  bool is_readable(report& why) const noexcept;

  std::uintptr_t bits_ = 0;
};

/// Exchanges the tensors of two owners.
inline void swap(managed_tensor& a, managed_tensor& b) noexcept { a.swap(b); }

namespace detail {
DLBRIDGE_COLD report empty_owner() noexcept;
// Returns the owner; throws null_data if it is empty.
inline managed_tensor const& require_owner(managed_tensor const& owner);
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/managed_tensor.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/managed_tensor.ipp>
#endif
