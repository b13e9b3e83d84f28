// What the program without exceptions does with a refusal: it ends, with 0 if it is one of those
// expected.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#define DLBRIDGE_ON_ERROR(why) std::exit(is_expected(dlbridge::message(why).c_str()) ? 0 : 2)
inline bool is_expected(char const* message) {
  for (char const* const each :
       {"malformed tensor: expected ndim from 0 to 64; got ndim -1. The producer is broken; "
        "dlbridge "
        "cannot read this tensor",
        "bad argument: expected an index from 0 to 1 for axis 0 of float32[2] on cpu; got 7",
        "bad argument: expected no index for axis 1 of float32[2, 0] on cpu; got -1"}) {
    if (std::strcmp(message, each) == 0) {
      return true;
    }
  }
  return false;
}
