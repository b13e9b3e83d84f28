// dtype_traits of std::complex: define the dtypes of std::complex<float> and std::complex<double>.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>

#include <dlbridge/dtype.hpp>

DLBRIDGE_BEGIN_NAMESPACE

/// complex64: bits counts both parts (spec 1.4). C++ defines that the real part comes first.
template <>
struct dtype_traits<std::complex<float>> {
  static constexpr dtype value{kDLComplex, 64};  ///< The dtype.
};
/// complex128.
template <>
struct dtype_traits<std::complex<double>> {
  static constexpr dtype value{kDLComplex, 128};  ///< The dtype.
};

DLBRIDGE_END_NAMESPACE
