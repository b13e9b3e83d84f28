// owned_block: one allocation for a managed struct, the owner that its deleter destroys, and the
// shape and the strides.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/version.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
[[noreturn]] DLBRIDGE_COLD void raise_no_memory();

/// Blocks without a pool: each takes memory of the heap, and returns it.
struct no_pool {
  static constexpr std::size_t bytes = 0;  // of memory in the pool
  static void* take() noexcept { return nullptr; }
  static bool put(void*) noexcept { return false; }
};

/// The block of a tensor that dlbridge creates: every struct of dlbridge is in one.
/// @tparam Pool Memory that is used again; as no_pool.
template <class Managed, class Owner, class Pool = no_pool>
struct owned_block {
  union {  // the maker of the block sets its other members; to initialize them would slow imports
    Managed managed;
  };
  Owner owner;

  /// Constructs a block from an owner, with room for a shape and strides of that rank.
  /// @return The block; null if there is no memory, with the given owner unchanged.
  template <class Source>
  static owned_block* try_make(Source&& owner, int rank) {
    return new (room{static_cast<std::size_t>(rank)}) owned_block(std::forward<Source>(owner));
  }
  /// The same, which throws out_of_memory.
  template <class Source>
  static owned_block* make(Source&& owner, int rank);
  ~owned_block() {}

  /// The room for the shape and the strides.
  std::int64_t* dims() noexcept { return reinterpret_cast<std::int64_t*>(this + 1); }

  /// The deleter of the struct.
  static void destroy(Managed* managed) noexcept {
    delete static_cast<owned_block*>(managed->manager_ctx);
  }

  static void operator delete(void* memory) noexcept;

 private:
  struct room {
    std::size_t rank;
  };

  template <class Source>
  explicit owned_block(Source&& from);

  static constexpr bool is_over_aligned() noexcept {
    static_assert(alignof(owned_block) >= alignof(std::int64_t),
                  "dlbridge: the memory after a block is aligned for shape and strides");
    return alignof(owned_block) > __STDCPP_DEFAULT_NEW_ALIGNMENT__;
  }
  static void* operator new(std::size_t bytes, room dims) noexcept;
  static void operator delete(void* memory, room) noexcept { owned_block::operator delete(memory); }
};

/// The owner in the block of a tensor, or null for a tensor that this module did not put in a block
/// with an owner of this type.
template <class Owner>
Owner* find_owner(managed_tensor const& tensor) noexcept;

/// Creates a tensor with an owner and copies of a shape and strides, without checks.
/// @param owner The owner, which may own `from`.
/// @param from The description of a valid tensor; without strides, they become those of row-major
///   order (spec 1.7).
/// @return The tensor; empty if there is no memory, with the owner unchanged.
template <class Pool, class Owner>
DLBRIDGE_NOINLINE managed_tensor own_copied(Owner&& owner, DLTensor const& from,
                                            std::uint64_t flags, version stated) noexcept;
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/detail/owned_block.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/detail/owned_block.ipp>
#endif
