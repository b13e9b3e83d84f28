// owned_block: one allocation for a managed struct, the owner that its deleter destroys, and the
// shape and the strides.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/detail/describe_block.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/layout.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/version.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace detail {
[[noreturn]] DLBRIDGE_COLD inline void raise_no_memory() {
  raise(refusal(errc::out_of_memory, "memory for a managed tensor", "none"));
}

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
  static owned_block* make(Source&& owner, int rank) {
    owned_block* const block = try_make(std::forward<Source>(owner), rank);
    if (block == nullptr) {
      raise_no_memory();
    }
    return block;
  }
  ~owned_block() {}

  /// The room for the shape and the strides.
  std::int64_t* dims() noexcept { return reinterpret_cast<std::int64_t*>(this + 1); }

  /// The deleter of the struct.
  static void destroy(Managed* managed) noexcept {
    delete static_cast<owned_block*>(managed->manager_ctx);
  }

  static void operator delete(void* memory) noexcept {
    if (Pool::put(memory)) {
      return;
    }
    if constexpr (is_over_aligned()) {
      ::operator delete(memory, std::align_val_t{alignof(owned_block)});
    } else {
      ::operator delete(memory);
    }
  }

 private:
  struct room {
    std::size_t rank;
  };

  template <class Source>
  explicit owned_block(Source&& from) : owner(std::forward<Source>(from)) {
    managed.manager_ctx = this;
    managed.deleter = &destroy;
  }

  static constexpr bool is_over_aligned() noexcept {
    static_assert(alignof(owned_block) >= alignof(std::int64_t),
                  "dlbridge: the memory after a block is aligned for shape and strides");
    return alignof(owned_block) > __STDCPP_DEFAULT_NEW_ALIGNMENT__;
  }
  static void* operator new(std::size_t bytes, room dims) noexcept {
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
  static void operator delete(void* memory, room) noexcept { owned_block::operator delete(memory); }
};

/// The owner in the block of a tensor, or null for a tensor that this module did not put in a block
/// with an owner of this type.
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

/// Creates a tensor with an owner and copies of a shape and strides, without checks.
/// @param owner The owner, which may own `from`.
/// @param from The description of a valid tensor; without strides, they become those of row-major
///   order (spec 1.7).
/// @return The tensor; empty if there is no memory, with the owner unchanged.
template <class Pool, class Owner>
DLBRIDGE_NOINLINE managed_tensor own_copied(Owner&& owner, DLTensor const& from,
                                            std::uint64_t flags, version stated) noexcept {
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
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
