// build: moves an array into a managed tensor of one allocation; to_versioned and to_legacy convert
// between the struct kinds.
// layer: arrays
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/array_traits.hpp>
#include <dlbridge/detail/describe_block.hpp>
#include <dlbridge/detail/owned_block.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/tensor_view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// How to export read-only memory as a legacy tensor, which has no read-only flag (spec 2.2).
enum class read_only_policy : std::uint8_t {
  refuse,  ///< Refuse the export with read_only.
  drop     ///< Export without the flag: the caller states that no consumer writes to the memory.
};

/// The owner to pass to build_on for memory that outlives every tensor built on it.
struct no_owner {};

/// The description of a view, including its flags.
/// @par Lifetime
/// Valid as long as the elements of the view. The description copies shape and strides.
inline description describe_view(tensor_view const& view) noexcept {
  auto const rank = static_cast<std::size_t>(view.rank());
  DLTensor const t = view.to_dltensor();
  description d;
  d.data = t.data;
  d.type = view.dtype();
  d.shape = dims::from(view.shape(), rank);
  d.strides = dims::from(view.strides(), view.strides() != nullptr ? rank : 0);
  d.device = view.device();
  d.byte_offset = t.byte_offset;
  d.flags = view.flags();
  return d;
}

/// build accepts a managed tensor as the array of another managed tensor.
template <>
struct array_traits<managed_tensor> {
  static description describe(managed_tensor& m) noexcept {
    return m ? describe_view(m.view()) : description::of_nothing();
  }
  static managed_tensor adopt(managed_tensor&& m) noexcept { return std::move(m); }
};

namespace detail {
// Moves the owner into a new block and then calls describe: the address of the owner no longer
// changes.
template <class Managed, class Owner, class Describe>
managed_tensor build_block(Owner&& owner, int rank, Describe describe) {
  auto* const block = owned_block<Managed, Owner>::make(std::forward<Owner>(owner), rank);
  description const& d = describe(block->owner);
  if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) {
    block->managed.version = {stated_major, stated_minor};
    block->managed.flags = d.flags;
  }
  // It frees the block if it refuses the description, with bad_argument or as check_tensor.
  return describe_block(managed_tensor::adopt(&block->managed), block->managed.dl_tensor,
                        block->dims(), d, rank);
}

// Throws if the legacy struct, which has no flags, cannot describe the tensor: read-only memory
// under read_only_policy::refuse, and padded sub-byte elements.
inline void require_legacy(dtype type, std::uint64_t flags, read_only_policy policy) {
  if ((flags & flag_read_only) != 0 && policy == read_only_policy::refuse) {
    raise(refusal(errc::read_only, "writable memory, as a legacy tensor has no read-only flag",
                  "read-only memory",
                  "Build a versioned tensor, copy it, or pass read_only_policy::drop"));
  }
  if ((flags & flag_padded) != 0 && is_sub_byte(type)) {
    raise(refusal(errc::version_mismatch, "a versioned tensor for padded sub-byte elements",
                  "a request for a legacy one", "Build a versioned tensor"));
  }
}

// Throws if an array has more dimensions than a tensor can have.
inline void require_rank(int rank) {
  if (rank > max_rank) {
    raise(refusal(errc::malformed, "ndim from 0 to 64", "ndim above 64",
                  "Correct the description of the array"));
  }
}

template <class Owner, class Describe>
managed_tensor build_as(Owner&& owner, description const& first, Describe describe,
                        struct_kind kind, read_only_policy policy) {
  constexpr bool is_movable = std::is_move_constructible_v<Owner>;
  static_assert(is_movable,
                "dlbridge: build moves the array, whose type has no move constructor. Add one, or "
                "share the array, build(std::make_shared<T>(...))");
  if constexpr (is_movable) {
    int const rank = first.shape.size();
    require_rank(rank);
    if (kind == struct_kind::versioned) {
      return build_block<DLManagedTensorVersioned>(std::forward<Owner>(owner), rank, describe);
    }
    require_legacy(first.type, first.flags, policy);
    return build_block<DLManagedTensor>(std::forward<Owner>(owner), rank, describe);
  } else {
    return managed_tensor();
  }
}
// Whether T is a view by its type: it frees nothing, and a const one gives a pointer to write to.
template <class T, class = void>
constexpr bool is_view_type = false;
template <class T>
constexpr bool is_view_type<T, std::void_t<decltype(std::declval<T const&>().data())>> = [] {
  using element = std::remove_pointer_t<decltype(std::declval<T const&>().data())>;
  if constexpr (std::is_trivially_destructible_v<T> && !std::is_const_v<element>) {
    return !borrows<T>;  // not of other types, so that a missing array_traits is reported once
  } else {
    return false;
  }
}();
template <class T>
constexpr bool is_view_type<std::shared_ptr<T>> = is_view_type<std::remove_const_t<T>>;

// Throws unless elements are in the object that owns them, or outside, as required.
inline void require_elements(bool inside, void const* owner, std::size_t bytes,
                             void const* elements) {
  auto const first = reinterpret_cast<std::uintptr_t>(owner);
  if ((reinterpret_cast<std::uintptr_t>(elements) - first < bytes) == inside) {
    return;
  }
  raise(inside ? refusal(errc::bad_argument, "an array that owns its elements",
                         "a view, whose destructor frees nothing",
                         "Name the owner, build_on(std::move(owner), describe(view)); or state "
                         "borrows in its array_traits, if the caller keeps the memory valid")
               : refusal(errc::bad_argument,
                         "elements that stay where they are when their owner moves",
                         "the address of elements in the owner itself",
                         "Pass a std::unique_ptr or a std::shared_ptr of it"));
}
}  // namespace detail

/// Creates a managed tensor that owns an array.
///
/// @param owner The array, of any type with array_traits; pass it with std::move.
/// @param kind The struct kind.
/// @param policy How to export read-only memory as a legacy tensor.
/// @return The tensor, on the elements of the array.
/// @throws error read_only or version_mismatch (the legacy struct has no flag for read-only memory
///   or padded elements), out_of_memory, bad_argument (describe returned shape and strides of
///   different ranks, or another rank in its second call; a view that owns nothing), null_data (an
///   empty std::shared_ptr), as check_tensor (describe returned an invalid description), or as
///   array_traits<T>::prepare.
///
/// @par Ownership
/// The array moves into the one allocation of the tensor. After read_only, version_mismatch,
/// out_of_memory, malformed for a rank above 64, and an exception of prepare, the caller still owns
/// it. After any other error it has been destroyed.
template <class Owner>
[[nodiscard]] managed_tensor build(Owner&& owner, struct_kind kind = struct_kind::versioned,
                                   read_only_policy policy = read_only_policy::refuse) {
  constexpr bool is_taken = !std::is_lvalue_reference_v<Owner> && !std::is_const_v<Owner>;
  static_assert(is_taken,
                "dlbridge: build takes the array over. Move it, build(std::move(a)), or share it, "
                "build(std::make_shared<T>(...))");
  constexpr bool is_view = detail::is_view_type<std::remove_reference_t<Owner>>;
  static_assert(!is_view,
                "dlbridge: a view frees no memory, so that a tensor built of it would dangle. Name "
                "the owner, build_on(std::move(owner), dlbridge::describe(view)); or state borrows "
                "in its array_traits, if the caller keeps the memory valid");
  if constexpr (is_taken && !is_view) {               // otherwise Clang reports further errors
    static_assert(sizeof(array_traits<Owner>) != 0);  // a missing one is reported here, and once
    auto const describe = [](Owner& array) noexcept { return dlbridge::describe(array); };
    dlbridge::prepare(owner);
    description const first = describe(owner);
    if constexpr (std::is_trivially_destructible_v<Owner>) {
      if constexpr (!detail::borrows<Owner>) {
        detail::require_elements(first.data != nullptr, std::addressof(owner), sizeof(owner),
                                 first.data);
      }
    }
    return detail::build_as(std::forward<Owner>(owner), first, describe, kind, policy);
  } else {
    return managed_tensor();
  }
}

namespace detail {
// Whether T is a function without a result: a deleter, which its destructor does not call.
template <class T, bool = std::is_invocable_v<T&>>
constexpr bool is_deleter = false;
template <class T>
constexpr bool is_deleter<T, true> = std::is_void_v<std::invoke_result_t<T&>>;

// Whether the destructor of T can free memory. That of a pointer, a view or a reference does not.
template <class T>
constexpr bool can_free = !std::is_trivially_destructible_v<T> && !is_deleter<T>;
template <class T>
constexpr bool can_free<std::weak_ptr<T>> = false;
}  // namespace detail

/// Creates a managed tensor on memory that an owner of any type keeps alive.
///
/// @param owner An object whose destructor frees the memory; pass it with std::move. The elements
///   must not move with it, as those of a std::array do.
/// @param memory The description of the memory.
/// @param kind The struct kind.
/// @param policy How to export read-only memory as a legacy tensor.
/// @return The tensor, which keeps owner until its deleter runs.
/// @throws error as build; bad_argument (the elements are in the owner itself).
///
/// @par Ownership
/// As build. After bad_argument for elements in the owner, the caller still owns it.
template <class Owner>
[[nodiscard]] managed_tensor build_on(Owner&& owner, description const& memory,
                                      struct_kind kind = struct_kind::versioned,
                                      read_only_policy policy = read_only_policy::refuse) {
  constexpr bool is_taken = !std::is_lvalue_reference_v<Owner> && !std::is_const_v<Owner>;
  static_assert(is_taken, "dlbridge: build_on takes the owner over. Move it, or pass no_owner{}");
  using owner_type = std::remove_cv_t<std::remove_reference_t<Owner>>;
  constexpr bool frees = std::is_same_v<owner_type, no_owner> || detail::can_free<owner_type>;
  static_assert(
      !is_taken || frees,
      "dlbridge: the destructor of the owner frees the memory, which that of a pointer, a view, a "
      "std::array or a deleter does not. Pass std::unique_ptr<T, Deleter>(pointer, deleter), a "
      "std::shared_ptr, or no_owner{}");
  if constexpr (is_taken && frees) {
    detail::require_elements(false, std::addressof(owner), sizeof(owner), memory.data);
    return detail::build_as(
        std::forward<Owner>(owner), memory, [&memory](Owner&) noexcept { return memory; }, kind,
        policy);
  } else {
    return managed_tensor();
  }
}

/// Converts a tensor to a versioned one on the same memory.
///
/// @param m The tensor.
/// @return m if it is versioned, otherwise a new tensor that owns it.
/// @throws error null_data (m is empty), out_of_memory.
///
/// @par Ownership
/// The result owns the memory. After an error the caller still owns m.
inline managed_tensor to_versioned(managed_tensor&& m) {
  if (m.get_versioned() != nullptr) {
    return std::move(m);
  }
  detail::require_owner(m);
  return build(std::move(m), struct_kind::versioned);
}

/// Converts a tensor to a legacy one on the same memory.
///
/// @param m The tensor.
/// @param policy How to export read-only memory.
/// @return m if it is legacy, otherwise a new tensor that owns it.
/// @throws error null_data (m is empty), read_only (policy is refuse), version_mismatch (padded
///   sub-byte elements), out_of_memory.
///
/// @par Ownership
/// The result owns the memory. After an error the caller still owns m.
inline managed_tensor to_legacy(managed_tensor&& m,
                                read_only_policy policy = read_only_policy::refuse) {
  if (m.get_legacy() != nullptr) {
    return std::move(m);
  }
  detail::require_owner(m);
  return build(std::move(m), struct_kind::legacy, policy);
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
