// SPDX-License-Identifier: BSD-3-Clause
// [dlbridge]
#include <dlbridge/src/all.cpp>
// [/dlbridge]
