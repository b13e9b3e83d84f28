// build: moves an owner into one allocation, then describes it; to_versioned and to_legacy change
// the struct_kind of what is already built.
// layer: arrays · OUT: from words to a managed tensor
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/managed.hpp>
#include <dlbridge/traits.hpp>
#include <dlbridge/view.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// What to do when read-only memory is asked for as a legacy tensor, which has no flag to say so
/// (spec 2.2): refuse, or drop the mark because the caller knows that nobody will write.
enum class read_only_policy : std::uint8_t { refuse, drop };

/// Owner of memory that somebody else keeps alive longer than every tensor built on it.
struct no_owner {};

/// What a view shows, as a description that can go out again, flags and all.
inline description describe_view(tensor_view const& view) noexcept {
  auto const rank = static_cast<std::size_t>(view.rank());
  description d;
  d.data = const_cast<void*>(view.data());
  d.type = view.dtype();
  d.shape = dims::from(view.shape(), rank);
  d.strides = dims::from(view.strides(), view.strides() != nullptr ? rank : 0);
  d.device = view.device();
  d.byte_offset = view.byte_offset();
  d.flags = view.flags();
  return d;
}

/// A managed tensor can own the array that goes out again.
template <>
struct array_traits<managed_tensor> {
  static description describe(managed_tensor& m) noexcept {
    return m ? describe_view(m.view()) : description::of_nothing();
  }
  static managed_tensor adopt(managed_tensor&& m) noexcept { return std::move(m); }
};

namespace detail {
/// Writes a description into a struct whose shape and strides live at dims and strides: strides
/// always explicit (spec 1.7).
inline void write_tensor(description const& d, std::int64_t* dims, std::int64_t* strides,
                         DLTensor& t) noexcept {
  int const rank = d.shape.size();
  for (int i = 0; i < rank; ++i) {
    dims[i] = d.shape[i];
  }
  if (d.strides.size() == 0) {
    fill_row_major(rank, dims, strides);
  }
  for (int i = 0; i < d.strides.size(); ++i) {
    strides[i] = d.strides[i];
  }
  t.data = d.data;
  t.byte_offset = d.byte_offset;
  t.device = d.device.abi();
  t.ndim = rank;
  t.dtype = d.type.abi();
  t.shape = rank == 0 ? nullptr : dims;
  t.strides = rank == 0 ? nullptr : strides;
}

/// Of a sound tensor: no data when empty (spec 1.7), the offset folded into addresses (spec 1.6).
inline void canonicalize_data(DLTensor& t) noexcept {
  if (count_of(t.ndim, t.shape) == 0) {
    t.data = nullptr;
    t.byte_offset = 0;
  } else if (has_address(device(t.device))) {
    t.data = static_cast<char*>(t.data) + t.byte_offset;
    t.byte_offset = 0;
  }
}

// Describes a new block in its own tensor, t, whose shape and strides lie at numbers. Not one for
// each owner: what follows is the same for all. owns: made, which is freed when the description is
// refused.
DLBRIDGE_NOINLINE inline managed_tensor describe_block(managed_tensor made, DLTensor& t,
                                                       std::int64_t* numbers, description const& d,
                                                       int rank) {
  if (d.shape.size() != rank || (d.strides.size() != 0 && d.strides.size() != rank)) {
    made.reset();
    raise(refusal(errc::bad_argument, "one rank for shape and strides, the same each time",
                  "several", "Correct array_traits<T>::describe"));
  }
  write_tensor(d, numbers, numbers + rank, t);
  report why = check_tensor(t);
  if (!why.ok()) {
    why.advice = "Correct the description of the array";
    made.reset();
    raise(why);
  }
  canonicalize_data(t);
  return made;
}
[[noreturn]] DLBRIDGE_COLD inline void raise_no_memory() {
  raise(refusal(errc::out_of_memory, "memory for a managed tensor", "none"));
}

/// One allocation: the managed struct, the owner, and behind them the shape and the strides.
template <class Managed, class Owner>
class block {
 public:
  /// owns: the owner from here on, or the caller still when it throws. fails: out_of_memory.
  static block* make(Owner&& owner, int rank) {
    std::size_t const dims = 2 * static_cast<std::size_t>(rank) * sizeof(std::int64_t);
    void* const memory = allocate(sizeof(block) + dims);
    if (memory == nullptr) {
      raise_no_memory();
    }
    struct guard {  // moving the owner may throw
      void* memory;
      ~guard() { deallocate(memory); }
    } armed{memory};
    auto* const made = ::new (memory) block(std::move(owner));
    armed.memory = nullptr;
    return made;
  }

  Owner& owner() noexcept { return owner_; }

  /// Describes the block and hands it out. fails: bad_argument, or as check_tensor; the owner is
  /// then gone.
  managed_tensor finish(description const& d, int rank) {
    managed_.manager_ctx = this;
    managed_.deleter = &destroy;
    managed_.dl_tensor = DLTensor{};
    if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) {
      managed_.version = {stated_major, stated_minor};
      managed_.flags = d.flags;
    }
    return describe_block(managed_tensor::adopt(&managed_), managed_.dl_tensor,
                          reinterpret_cast<std::int64_t*>(this + 1), d, rank);
  }

 private:
  explicit block(Owner&& owner) : managed_(), owner_(std::move(owner)) {}

  static void destroy(Managed* managed) noexcept {
    auto* const self = static_cast<block*>(managed->manager_ctx);
    self->~block();
    deallocate(self);
  }

  static void* allocate(std::size_t bytes) noexcept {
    if constexpr (alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
      return ::operator new(bytes, std::align_val_t{alignment}, std::nothrow);
    } else {
      return ::operator new(bytes, std::nothrow);
    }
  }
  static void deallocate(void* memory) noexcept {
    if constexpr (alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
      ::operator delete(memory, std::align_val_t{alignment});
    } else {
      ::operator delete(memory);
    }
  }

  Managed managed_;
  Owner owner_;

  static constexpr std::size_t alignment = alignof(Owner) > alignof(Managed) ? alignof(Owner)
                                                                             : alignof(Managed);
  static_assert(alignof(Managed) >= alignof(std::int64_t),
                "shape and strides lie behind the block");
};

/// describe is called with the owner in its final place.
template <class Managed, class Owner, class Describe>
managed_tensor build_block(Owner&& owner, int rank, Describe describe) {
  auto* const made = block<Managed, Owner>::make(std::forward<Owner>(owner), rank);
  return made->finish(describe(made->owner()), rank);
}

/// Refuses what a legacy struct cannot say: that memory is read-only, that elements are padded.
inline void require_legacy(dtype type, std::uint64_t flags, read_only_policy policy) {
  if ((flags & flag_read_only) != 0 && policy == read_only_policy::refuse) {
    raise(refusal(errc::read_only, "writable memory for a legacy tensor, which has no mark for it",
                  "read-only memory", "Ask with max_version=(1, 0), or copy it"));
  }
  if ((flags & flag_padded) != 0 && is_sub_byte(type)) {
    raise(refusal(errc::version_mismatch, "a versioned tensor for padded sub-byte elements",
                  "a request for a legacy one", "Ask with max_version=(1, 1)"));
  }
}

template <class Owner, class Describe>
managed_tensor build_as(Owner&& owner, description const& first, Describe describe,
                        struct_kind kind, read_only_policy policy) {
  int const rank = first.shape.size();
  if (rank > max_rank) {
    raise(refusal(errc::malformed, "ndim from 0 to 64", "more",
                  "Correct the description of the array"));
  }
  if (kind == struct_kind::versioned) {
    return build_block<DLManagedTensorVersioned>(std::forward<Owner>(owner), rank, describe);
  }
  require_legacy(first.type, first.flags, policy);
  return build_block<DLManagedTensor>(std::forward<Owner>(owner), rank, describe);
}
}  // namespace detail

/// A managed tensor that owns an array of any type with array_traits.
/// owns: the array is moved into the tensor's one allocation, and described there. When a request
/// is refused it is still the caller's; when its description is wrong it is gone.
/// fails: read_only (legacy and refuse), out_of_memory, bad_argument, or as check_tensor.
template <class Owner>
managed_tensor build(Owner&& owner, struct_kind kind = struct_kind::versioned,
                     read_only_policy policy = read_only_policy::refuse) {
  static_assert(!std::is_lvalue_reference_v<Owner> && !std::is_const_v<Owner>,
                "dlbridge: build takes the array over. Move it in, build(std::move(a)), or share "
                "it, build(std::make_shared<T>(...))");
  return detail::build_as(
      std::forward<Owner>(owner), describe(owner),
      [](Owner& placed) noexcept { return describe(placed); }, kind, policy);
}

/// A managed tensor on described memory that the owner merely keeps alive: its destructor is what
/// frees it. owns, fails: as build.
template <class Owner>
managed_tensor build_on(Owner&& owner, description const& memory,
                        struct_kind kind = struct_kind::versioned,
                        read_only_policy policy = read_only_policy::refuse) {
  static_assert(!std::is_lvalue_reference_v<Owner> && !std::is_const_v<Owner>,
                "dlbridge: build_on takes the owner over. Move it in, or pass no_owner{}");
  return detail::build_as(
      std::forward<Owner>(owner), memory, [&memory](Owner&) noexcept { return memory; }, kind,
      policy);
}

/// The same memory as a versioned tensor: itself when it is one, else a tensor that owns it.
/// owns: m is taken. fails: out_of_memory.
inline managed_tensor to_versioned(managed_tensor&& m) {
  return m.get_versioned() != nullptr ? std::move(m) : build(std::move(m), struct_kind::versioned);
}

/// The same memory as a legacy tensor. owns: m is taken, unless the request is refused.
/// fails: read_only (refuse), version_mismatch (padded), out_of_memory.
inline managed_tensor to_legacy(managed_tensor&& m,
                                read_only_policy policy = read_only_policy::refuse) {
  return m.get_legacy() != nullptr ? std::move(m)
                                   : build(std::move(m), struct_kind::legacy, policy);
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
