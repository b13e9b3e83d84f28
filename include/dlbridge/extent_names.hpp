// extent_names: checks that extents of the same name agree among several tensors.
// layer: arrays
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>
#include <dlbridge/requirement.hpp>
#include <dlbridge/tensor_view.hpp>

DLBRIDGE_BEGIN_NAMESPACE

/// The extents that the tensors of one call have under each name.
class extent_names {
 public:
  /// An extent with a name.
  struct entry {
    char name;            ///< its name, a letter
    std::int64_t extent;  ///< its value
    int source;           ///< the number of the tensor that gave the extent
  };

  /// Compares the named extents of a tensor with those of earlier tensors, and keeps the others.
  /// @param view the tensor, which meets need
  /// @param need the requirement with the names
  /// @param source a number for the tensor
  /// @return the entry with which an extent does not agree, or null
  entry const* add(tensor_view const& view, requirement const& need, int source) noexcept;

 private:
  entry entries_[52];  // one for each letter
  int size_ = 0;
};

/// Checks that extents of the same name agree among tensors: require_agreement(x, y).
/// @param tensors objects of tensor_span, tensor or argument, of which some have extents named<...>
/// @throws error extent_mismatch
template <class... Tensors>
void require_agreement(Tensors const&... tensors);

namespace detail {
constexpr bool has_names(requirement const& need) noexcept;

// "expected float32[n] on cpu, with n = 4 as in <where>; got float32[5] on cpu: extents differ"
DLBRIDGE_COLD report disagreement(tensor_view const& view, requirement const& need,
                                  extent_names::entry const& with, char const* where) noexcept;
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/extent_names.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/extent_names.ipp>
#endif
