// dtype_of for std::complex<float> and std::complex<double>.
// layer: values · what an element is
#pragma once

#include <complex>

#include <dlbridge/dtype.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

// The bits count both parts; real comes first (spec 1.4). std::complex has that layout by standard.
template <>
struct dtype_traits<std::complex<float>> {
  static constexpr dtype value{kDLComplex, 64};
};
template <>
struct dtype_traits<std::complex<double>> {
  static constexpr dtype value{kDLComplex, 128};
};

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
