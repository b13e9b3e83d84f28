// SPDX-License-Identifier: BSD-3-Clause
// nanobind before 2.11 does not state which parameters accept None.
// lines: 80
// says: nanobind 2.11 or newer is required. Write nanobind>=2.11
#include <nanobind/nanobind.h>
#ifdef WRONG
#undef NB_VERSION_MAJOR
#undef NB_VERSION_MINOR
#define NB_VERSION_MAJOR 2
#define NB_VERSION_MINOR 10
#endif

#include <dlbridge/nanobind.hpp>

std::int64_t use(dlbridge::tensor_span<float> x) { return x.count(); }
