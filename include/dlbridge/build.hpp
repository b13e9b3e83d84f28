// build: moves an array into a managed tensor of one allocation; to_versioned and to_legacy convert
// between the struct kinds.
// layer: arrays
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/array_traits.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_NAMESPACE

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
description describe_view(tensor_view const& view) noexcept;

/// Creates a managed tensor that owns an array.
/// @param owner The array, of any type with array_traits; pass it with std::move.
/// @param kind The struct kind.
/// @param policy How to export read-only memory as a legacy tensor.
/// @return The tensor, on the elements of the array.
/// @throws error read_only or version_mismatch (the legacy struct has no flag for read-only memory
///   or padded elements), out_of_memory, bad_argument (describe returned shape and strides of
///   different ranks, or another rank in its second call; a view that owns nothing), null_data (an
///   empty std::shared_ptr), as check_tensor (describe returned an invalid description), or as
///   array_traits<T>::prepare.
/// @par Ownership
/// The array moves into the one allocation of the tensor. After read_only, version_mismatch,
/// out_of_memory, malformed for a rank above 64, and an exception of prepare, the caller still owns
/// it. After any other error it has been destroyed.
template <class Owner>
[[nodiscard]] managed_tensor build(Owner&& owner, struct_kind kind = struct_kind::versioned,
                                   read_only_policy policy = read_only_policy::refuse);

/// Creates a managed tensor on memory that an owner of any type keeps alive.
/// @param owner An object whose destructor frees the memory; pass it with std::move. The elements
///   must not move with it, as those of a std::array do.
/// @param memory The description of the memory.
/// @param kind The struct kind.
/// @param policy How to export read-only memory as a legacy tensor.
/// @return The tensor, which keeps owner until its deleter runs.
/// @throws error as build; bad_argument (the elements are in the owner itself), null_data (an empty
///   std::unique_ptr, std::shared_ptr or managed_tensor).
/// @par Ownership
/// As build. After bad_argument for elements in the owner, the caller still owns it.
template <class Owner>
[[nodiscard]] managed_tensor build_on(Owner&& owner, description const& memory,
                                      struct_kind kind = struct_kind::versioned,
                                      read_only_policy policy = read_only_policy::refuse);

/// Converts a tensor to a versioned one on the same memory.
/// @param m The tensor.
/// @return m if it is versioned, otherwise a new tensor that owns it.
/// @throws error null_data (m is empty), out_of_memory.
/// @par Ownership
/// The result owns the memory. After an error the caller still owns m.
managed_tensor to_versioned(managed_tensor&& m);

/// Converts a tensor to a legacy one on the same memory.
/// @param m The tensor.
/// @param policy How to export read-only memory.
/// @return m if it is legacy, otherwise a new tensor that owns it.
/// @throws error null_data (m is empty), read_only (policy is refuse), version_mismatch (padded
///   sub-byte elements), out_of_memory.
/// @par Ownership
/// The result owns the memory. After an error the caller still owns m.
managed_tensor to_legacy(managed_tensor&& m, read_only_policy policy = read_only_policy::refuse);

/// build accepts a managed tensor as the array of another managed tensor.
template <>
struct array_traits<managed_tensor> {
  static description describe(managed_tensor& m) noexcept;  ///< The memory of the tensor.
  static report check(tensor_view const&) noexcept { return report(); }  ///< Takes every device.
  static managed_tensor adopt(managed_tensor&& m) noexcept { return std::move(m); }  ///< Moves.
};

namespace detail {
// Throws if the legacy struct, which has no flags, cannot describe the tensor: read-only memory
// under read_only_policy::refuse, and padded sub-byte elements.
void require_legacy(dtype type, std::uint64_t flags, read_only_policy policy);

// Throws if an array has more dimensions than a tensor can have.
inline void require_rank(int rank);
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/build.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/build.ipp>
#endif
