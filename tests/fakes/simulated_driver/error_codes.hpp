// The error codes that the tests of the simulated drivers compare with.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

enum : int {
  ok = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  invalid_device = 101,
  invalid_context = 201,
  peer_unsupported = 217,
  invalid_handle = 400,
  illegal_state = 401,
  not_ready = 600,
  illegal_address = 700,
  already_enabled = 704,
  context_destroyed = 709,
  already_registered = 712,
  not_registered = 713,
  not_permitted = 800,
  not_supported = 801,
  capture_unsupported = 900,
  capture_invalidated = 901,
  capture_merge = 902,
  capture_unmatched = 903,
  capture_unjoined = 904,
  capture_isolation = 905,
  capture_implicit = 906,
  captured_event = 907,
};
