// The bodies for the program without exceptions in compiled mode, with its DLBRIDGE_ON_ERROR.
// SPDX-License-Identifier: BSD-3-Clause
#include "on_error.hpp"

#include <dlbridge/src/core.cpp>
#include <dlbridge/src/devices.cpp>
