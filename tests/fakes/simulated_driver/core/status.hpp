// status: the error codes, with the numbers that CUDA and HIP share. driver_error: the exception
// with which the simulated drivers return one.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace simulated {

enum class status : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  deinitialized = 4,
  device_unavailable = 46,
  no_device = 100,
  invalid_device = 101,
  invalid_context = 201,
  peer_access_unsupported = 217,
  invalid_handle = 400,
  illegal_state = 401,
  not_ready = 600,
  illegal_address = 700,
  peer_access_already_enabled = 704,
  context_is_destroyed = 709,
  host_memory_already_registered = 712,
  host_memory_not_registered = 713,
  launch_failed = 719,
  not_permitted = 800,
  not_supported = 801,
  system_not_ready = 802,
  system_driver_mismatch = 803,
  compatibility_not_supported = 804,
  capture_unsupported = 900,
  capture_invalidated = 901,
  capture_merge = 902,
  capture_unmatched = 903,
  capture_unjoined = 904,
  capture_isolation = 905,
  capture_implicit = 906,
  captured_event = 907,
  capture_wrong_thread = 908,
  unknown = 999,
};

struct driver_error {
  status code;
};

[[noreturn]] inline void fail(status code) { throw driver_error{code}; }

inline void require(bool holds, status otherwise = status::invalid_value) {
  if (!holds) {
    fail(otherwise);
  }
}

}  // namespace simulated
