// The functions of a library with types of dlbridge in its interface, in static libraries of both
// modes.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/build.hpp>
#include <dlbridge/managed_tensor.hpp>
#include <dlbridge/tensor_view.hpp>

namespace library {
/// @throws dlbridge::error unless x is a vector of floats.
float total(dlbridge::tensor_view x);
/// A tensor of the elements 0, 1 and 2, whose deleter adds 1 to a number.
dlbridge::managed_tensor counted(int& deleted);
/// Releases the tensor.
void take(dlbridge::managed_tensor x);
}  // namespace library
