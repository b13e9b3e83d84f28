// refusal_of: returns the error of a call as text, so that a test compares code and message
// together.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/error.hpp>

#include <string>

/// Calls `call` and returns "rank_mismatch: expected ...; got ..." when it throws a
/// dlbridge::error, and "accepted" when it returns.
template <class Call>
std::string refusal_of(Call call) {
  try {
    static_cast<void>(call());
  } catch (dlbridge::error const& e) {
    return std::string(dlbridge::row(e.code()).name) + ": " + e.what();
  }
  return "accepted";
}
