// What a call refuses with, as one line of text, so that a test compares code and message at once.
#pragma once

#include <dlbridge/error.hpp>

#include <string>

/// "rank_mismatch: expected ...; got ...", or "accepted" when the call throws no dlbridge::error.
template <class Call>
std::string refusal_of(Call call) {
  try {
    static_cast<void>(call());
  } catch (dlbridge::error const& e) {
    return std::string(dlbridge::row(e.code()).name) + ": " + e.what();
  }
  return "accepted";
}
