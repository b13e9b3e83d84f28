// SPDX-License-Identifier: BSD-3-Clause
// The step bound with PyTorch's extension API: pybind11 and the casters of <torch/extension.h>.
#include <torch/extension.h>

#include "checks.hpp"

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("step", step); }
