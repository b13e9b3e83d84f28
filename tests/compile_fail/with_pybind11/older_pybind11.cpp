// SPDX-License-Identifier: BSD-3-Clause
// pybind11 before 3.0 frees the tensors of a container before the call.
// lines: 80
// says: pybind11 3.0 or newer is required. Write pybind11>=3.0
#include <pybind11/pybind11.h>
#ifdef WRONG
#undef PYBIND11_VERSION_MAJOR
#define PYBIND11_VERSION_MAJOR 2
#endif

#include <dlbridge/pybind11.hpp>

std::int64_t use(dlbridge::tensor_span<float> x) { return x.count(); }
