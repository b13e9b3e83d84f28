// What the program without exceptions does with a refusal: it ends, with 0 if it is the expected
// one.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdlib>
#include <cstring>

#define DLBRIDGE_ON_ERROR(why) \
  std::exit(std::strcmp(dlbridge::message(why).c_str(), expected_refusal) == 0 ? 0 : 2)
static char const* const expected_refusal =
    "malformed tensor: expected ndim from 0 to 64; got ndim -1. The producer is broken; dlbridge "
    "cannot read this tensor";
