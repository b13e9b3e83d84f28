// version: represents a version of DLPack; struct_kind_for chooses the struct kind to export, and
// readable checks the version of an imported struct.
// layer: values
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>

DLBRIDGE_BEGIN_NAMESPACE

/// A DLPack version. The major number determines the layout of the struct; a new minor number only
/// adds values (spec 2.1).
struct version {
  std::uint32_t major_number = 0;  ///< Determines the layout of the struct.
  std::uint32_t minor_number = 0;  ///< Determines the values that may occur.

  /// Whether both numbers are equal.
  friend constexpr bool operator==(version a, version b) noexcept {
    return a.major_number == b.major_number && a.minor_number == b.minor_number;
  }
  /// Not ==.
  friend constexpr bool operator!=(version a, version b) noexcept { return !(a == b); }
};

/// The values of `copy=` in Python.
enum class copy_policy : std::uint8_t {
  always,     ///< True: the consumer requires a copy.
  if_needed,  ///< None: the producer may copy.
  never       ///< False: the consumer forbids a copy.
};

/// The struct kind that a producer returns for `max_version=` (spec 2.2).
/// @param max_version The newest version that the consumer supports; 0.0 if it passed none.
/// @return legacy for major 0, otherwise versioned. The consumer then decides whether it can read
///   the version in the struct.
constexpr struct_kind struct_kind_for(version max_version) noexcept {
  return max_version.major_number == 0 ? struct_kind::legacy : struct_kind::versioned;
}

/// Whether dlbridge can read a versioned struct of this version: the major number is 1. A newer
/// minor number is readable, because check_tensor refuses unknown values (spec 2.1).
constexpr bool readable(version received) noexcept { return received.major_number == stated_major; }

/// The refusal of a version that is not readable.
/// @param received The version of the struct.
/// @return A report: version_mismatch.
DLBRIDGE_COLD report unreadable(version received) noexcept;

DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/version.ipp>
#endif
