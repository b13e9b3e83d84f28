// core: the namespace of the module's own code, which uses dlbridge's names without a prefix.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/abi.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace core DLBRIDGE_LOCAL {
using namespace dlbridge;
using namespace dlbridge::python;
using namespace dlbridge::python::detail;
}  // namespace core DLBRIDGE_LOCAL
