// Pure decisions of negotiation: which struct_kind to produce for a max_version, whether a received
// version may be read, what copy= may mean.
// layer: values · side road of both journeys
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// A DLPack version. The major decides whether a struct can be read; a minor only adds values.
struct version {
  std::uint32_t major_number = 0;
  std::uint32_t minor_number = 0;

  friend constexpr bool operator==(version a, version b) noexcept {
    return a.major_number == b.major_number && a.minor_number == b.minor_number;
  }
  friend constexpr bool operator!=(version a, version b) noexcept { return !(a == b); }
};

/// The version written into what we produce: the one we implement, at most that of dlpack.h.
constexpr version stated_version() noexcept { return {stated_major, stated_minor}; }

/// Whether a consumer wants memory of its own: must, may, never; True, None, False in Python.
enum class copy_policy : std::uint8_t { always, if_needed, never };

/// The struct_kind to answer a consumer with that understands at most max_version. No max_version,
/// or major 0, asks for legacy: consumers that pass none refuse a versioned answer, and consumers
/// that pass 1.x refuse a legacy one. A major above ours gets our own; it decides (spec 2.2).
constexpr struct_kind struct_kind_for(version max_version) noexcept {
  return max_version.major_number == 0 ? struct_kind::legacy : struct_kind::versioned;
}

/// Whether the fields of a versioned struct may be read. Any minor may: new codes are then met, and
/// refused, where they are used (spec 2.1).
constexpr bool readable(version received) noexcept { return received.major_number == stated_major; }

/// The refusal of a version that is not readable.
DLBRIDGE_COLD inline report unreadable(version received) noexcept {
  report r = refusal(errc::version_mismatch, "DLPack version 1.x", "version ",
                     "Ask the producer for max_version=(1, x), or use a newer dlbridge");
  r.got.append_unsigned(received.major_number).append(".").append_unsigned(received.minor_number);
  return r;
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
