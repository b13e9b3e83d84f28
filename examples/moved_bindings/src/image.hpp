// The kernel of the image module, which both bindings call. Its numerics are a stub.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace image {

enum class interpolation { nearest, bilinear };

/// An image of rows, columns and channels of T, row-major.
template <class T>
struct pixels {
  T* data;
  std::int64_t rows, columns, channels;

  std::int64_t count() const { return rows * columns * channels; }
};

/// Writes the pixels of `in` in their order, shifted by the first point of the mesh, if there is
/// one.
template <class T>
void resample(pixels<T const> in, pixels<T> out, double const* mesh, float alpha) {
  for (std::int64_t i = 0; i < out.count(); ++i) {
    double const shift = mesh ? mesh[0] : 0;
    out.data[i] = static_cast<T>(in.data[i % in.count()] * alpha + shift);
  }
}

}  // namespace image
