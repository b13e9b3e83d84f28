// managed_tensor: move-only owner of a managed tensor of either struct kind; calls its deleter
// exactly once.
// layer: tensors · every import ends here, every export begins here
#pragma once

#include <cstdint>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/version.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// Owns a DLManagedTensor or a DLManagedTensorVersioned, or nothing. One pointer wide: the lowest
/// bit of the address tells the struct kind. Deleters may be null (spec 3.2-7).
/// moved-from: empty.
/// thread: none of its own; the deleter may be called from any thread (spec 3.3).
class managed_tensor {
 public:
  managed_tensor() noexcept = default;
  managed_tensor(managed_tensor&& other) noexcept : bits_(std::exchange(other.bits_, 0)) {}
  managed_tensor& operator=(managed_tensor&& other) noexcept {
    managed_tensor old(std::move(other));
    swap(old);
    return *this;
  }
  managed_tensor(managed_tensor const&) = delete;
  managed_tensor& operator=(managed_tensor const&) = delete;
  ~managed_tensor() { reset(); }

  /// Takes a tensor from outside, then checks its version and its description. It owns from the
  /// first moment: when a check fails the deleter has run, and nothing but version and deleter of
  /// an unreadable version was touched (spec 2.1). Null gives an empty owner.
  /// fails: version_mismatch, or as check_tensor.
  template <class Managed>
  static managed_tensor steal(Managed* raw) {
    report why;
    managed_tensor owned = try_steal(raw, why);
    if (!why.ok()) {
      raise(why);
    }
    return owned;
  }
  /// The same without throwing: empty when refused, and why says what for.
  template <class Managed>
  static managed_tensor try_steal(Managed* raw, report& why) noexcept {
    managed_tensor owned = adopt(raw);
    if (raw != nullptr && !owned.is_readable(why)) {
      owned.reset();
    }
    return owned;
  }
  /// Takes a tensor that is known to be sound, because this side built or checked it.
  static managed_tensor adopt(DLManagedTensorVersioned* raw) noexcept {
    DLBRIDGE_ASSUME((reinterpret_cast<std::uintptr_t>(raw) & legacy_bit) == 0);
    return managed_tensor(reinterpret_cast<std::uintptr_t>(raw));
  }
  static managed_tensor adopt(DLManagedTensor* raw) noexcept {
    DLBRIDGE_ASSUME((reinterpret_cast<std::uintptr_t>(raw) & legacy_bit) == 0);
    return managed_tensor(raw == nullptr ? 0 : reinterpret_cast<std::uintptr_t>(raw) | legacy_bit);
  }

  explicit operator bool() const noexcept { return bits_ != 0; }
  struct_kind kind() const noexcept {
    return (bits_ & legacy_bit) != 0 ? struct_kind::legacy : struct_kind::versioned;
  }

  /// The struct, or null when it is of the other struct kind or there is none. Still owned.
  DLManagedTensorVersioned* get_versioned() const noexcept {
    return (bits_ & legacy_bit) == 0 ? versioned_at(bits_) : nullptr;
  }
  DLManagedTensor* get_legacy() const noexcept {
    return (bits_ & legacy_bit) != 0 ? legacy_at(bits_) : nullptr;
  }

  /// Gives the struct up without freeing it: the caller now owes its deleter one call. Null, and
  /// nothing given up, when it is of the other struct kind; builder.hpp has to_versioned,
  /// to_legacy.
  [[nodiscard]] DLManagedTensorVersioned* release_versioned() noexcept {
    DLManagedTensorVersioned* const raw = get_versioned();
    bits_ = raw != nullptr ? 0 : bits_;
    return raw;
  }
  [[nodiscard]] DLManagedTensor* release_legacy() noexcept {
    DLManagedTensor* const raw = get_legacy();
    bits_ = raw != nullptr ? 0 : bits_;
    return raw;
  }

  /// Frees now: calls the deleter once, unless there is nothing or the deleter is null.
  void reset() noexcept {
    std::uintptr_t const bits = std::exchange(bits_, 0);  // the deleter may come back here
    if (bits != 0) {
      (bits & legacy_bit) != 0 ? call_deleter(legacy_at(bits)) : call_deleter(versioned_at(bits));
    }
  }
  void swap(managed_tensor& other) noexcept { std::swap(bits_, other.bits_); }

  /// The struct inside. Not to be called when empty.
  DLTensor const& tensor() const& noexcept DLBRIDGE_LIFETIMEBOUND {
    return (bits_ & legacy_bit) != 0 ? legacy_at(bits_)->dl_tensor : versioned_at(bits_)->dl_tensor;
  }
  /// Flags of the versioned struct; 0 for a legacy one, which carries none.
  std::uint64_t flags() const noexcept {
    return (bits_ & legacy_bit) != 0 ? 0 : versioned_at(bits_)->flags;
  }
  /// The version of a versioned struct; 0.0 for a legacy one.
  dlbridge::version version() const noexcept {
    return (bits_ & legacy_bit) != 0 ? dlbridge::version{}
                                     : dlbridge::version{versioned_at(bits_)->version.major,
                                                         versioned_at(bits_)->version.minor};
  }

  /// The view of what is owned, valid as long as this owner, or whoever it is moved to, keeps it.
  tensor_view view() const& noexcept DLBRIDGE_LIFETIMEBOUND {
    return tensor_view(tensor(), flags());
  }
  operator tensor_view() const& noexcept DLBRIDGE_LIFETIMEBOUND { return view(); }
  // A view of a temporary owner would dangle at once.
  DLTensor const& tensor() const&& = delete;
  tensor_view view() const&& = delete;
  operator tensor_view() const&& = delete;

 private:
  static constexpr std::uintptr_t legacy_bit = 1;
  static_assert(alignof(DLManagedTensor) >= 2 && alignof(DLManagedTensorVersioned) >= 2,
                "the lowest bit of the address is free");

  explicit managed_tensor(std::uintptr_t bits) noexcept : bits_(bits) {}
  static DLManagedTensorVersioned* versioned_at(std::uintptr_t bits) noexcept {
    return reinterpret_cast<DLManagedTensorVersioned*>(bits);
  }
  static DLManagedTensor* legacy_at(std::uintptr_t bits) noexcept {
    return reinterpret_cast<DLManagedTensor*>(bits & ~legacy_bit);
  }

  // A deleter is a C function. Saying that it does not throw lets the compiler end with a jump to
  // it.
  template <class Managed>
  static void call_deleter(Managed* raw) noexcept {
    using c_function = void (*)(Managed*) noexcept;
    if (raw->deleter != nullptr) {
      reinterpret_cast<c_function>(raw->deleter)(raw);
    }
  }

  bool is_readable(report& why) const noexcept {
    if (kind() == struct_kind::versioned && !readable(version())) {
      why = unreadable(version());
      return false;
    }
    detail::flaw const found = detail::find_flaw(tensor());
    if (found != detail::flaw::none) {
      why = detail::explain(found, tensor());
      return false;
    }
    return true;
  }

  std::uintptr_t bits_ = 0;
};

inline void swap(managed_tensor& a, managed_tensor& b) noexcept { a.swap(b); }

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
