// The inline bodies of build.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include <dlbridge/build.hpp>
#include <dlbridge/detail/describe_block.hpp>
#include <dlbridge/detail/owned_block.hpp>
#include <dlbridge/error.hpp>

DLBRIDGE_BEGIN_NAMESPACE
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

void require_rank(int rank) {
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

// Throws unless elements are in the object that owns them, or outside, as required. An owner that
// frees nothing is null.
void require_elements(bool inside, void const* owner, std::size_t bytes, void const* elements);

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

// Whether an owner frees nothing, as one that was moved from. A std::shared_ptr of null may own
// what its deleter frees.
constexpr bool is_empty_owner(void const*) noexcept { return false; }
inline bool is_empty_owner(managed_tensor const* owner) noexcept { return !*owner; }
template <class T, class Deleter>
bool is_empty_owner(std::unique_ptr<T, Deleter> const* owner) noexcept {
  return *owner == nullptr;
}
template <class T>
bool is_empty_owner(std::shared_ptr<T> const* owner) noexcept {
  return owner->use_count() == 0;
}
}  // namespace detail

template <class Owner>
managed_tensor build(Owner&& owner, struct_kind kind, read_only_policy policy) {
  constexpr bool is_taken = !std::is_lvalue_reference_v<Owner> && !std::is_const_v<Owner>;
  static_assert(
      is_taken,
      "dlbridge: build takes the array over. Move one that is not const, build(std::move(a)), "
      "or share it, build(std::make_shared<T>(...))");
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
    if constexpr (std::is_trivially_destructible_v<Owner> && !detail::borrows<Owner>) {
      detail::require_elements(first.data != nullptr, std::addressof(owner), sizeof(owner),
                               first.data);
    }
    return detail::build_as(std::forward<Owner>(owner), first, describe, kind, policy);
  } else {
    return managed_tensor();
  }
}

template <class Owner>
managed_tensor build_on(Owner&& owner, description const& memory, struct_kind kind,
                        read_only_policy policy) {
  constexpr bool is_taken = !std::is_lvalue_reference_v<Owner> && !std::is_const_v<Owner>;
  static_assert(
      is_taken,
      "dlbridge: build_on takes the owner over. Move one that is not const, or pass no_owner{}");
  using owner_type = std::remove_cv_t<std::remove_reference_t<Owner>>;
  constexpr bool frees = std::is_same_v<owner_type, no_owner> || detail::can_free<owner_type>;
  static_assert(
      !is_taken || frees,
      "dlbridge: the destructor of the owner frees the memory, which that of a pointer, a view, a "
      "std::array or a deleter does not. Pass std::unique_ptr<T, Deleter>(pointer, deleter), a "
      "std::shared_ptr, or no_owner{}");
  if constexpr (is_taken && frees) {
    bool const is_lost = memory.data != nullptr && detail::is_empty_owner(std::addressof(owner));
    detail::require_elements(false, is_lost ? nullptr : std::addressof(owner), sizeof(owner),
                             memory.data);
    return detail::build_as(
        std::forward<Owner>(owner), memory, [&memory](Owner&) noexcept { return memory; }, kind,
        policy);
  } else {
    return managed_tensor();
  }
}

DLBRIDGE_END_NAMESPACE
