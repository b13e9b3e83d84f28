// The bodies of version.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/version.hpp>

DLBRIDGE_BEGIN_NAMESPACE

DLBRIDGE_NOINLINE DLBRIDGE_API report unreadable(version received) noexcept {
  report r = refusal(errc::version_mismatch, "DLPack version 1.x", "version ",
                     "Ask the producer for max_version=(1, x), or use a newer dlbridge");
  r.got.append_unsigned(received.major_number).append(".").append_unsigned(received.minor_number);
  return r;
}

DLBRIDGE_END_NAMESPACE
