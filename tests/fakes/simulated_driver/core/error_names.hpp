// error_name_row: the name of an error code in each driver, and its description.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "status.hpp"

namespace simulated {

struct error_name_row {
  status code;
  char const* cuda;
  char const* hip;
  char const* description;
};

// Returns null for an unknown code.
error_name_row const* find_error_name(int code);

}  // namespace simulated
