// SPDX-License-Identifier: BSD-3-Clause
// Specializes array_traits for an array class, exports an object of it, and imports a tensor.
#include <cassert>
#include <cstdio>
#include <limits>
#include <utility>
#include <vector>

// [hook]
#include <dlbridge/dlbridge.hpp>

class image {  // your array, independent of DLPack
 public:
  image(int rows, int columns) : rows_(rows), columns_(columns), pixels_(rows * columns) {}
  int rows() const { return rows_; }
  int columns() const { return columns_; }
  float* data() { return pixels_.data(); }

 private:
  int rows_, columns_;
  std::vector<float> pixels_;
};

// [traits]
template <>
struct dlbridge::array_traits<image> {
  static description describe(image& i) noexcept {
    return description::of(i.data(), {i.rows(), i.columns()});
  }
};
// [/traits]
// [/hook]

// [out]
DLManagedTensorVersioned* export_image(image i) {
  return dlbridge::build(std::move(i)).release_versioned();  // the tensor owns the image
}
// [/out]

// [in]
float brightest(DLManagedTensorVersioned* raw) {
  // Takes ownership. If a check fails, the deleter has run and the error has the reason.
  auto owned = dlbridge::managed_tensor::steal(raw);
  dlbridge::tensor<float const, dlbridge::shape<dlbridge::dynamic_extent, 3>> const t{
      std::move(owned)};
  float largest = -std::numeric_limits<float>::infinity();  // of an empty image
  for (int i = 0; i < t.extent(0); ++i) {
    for (int j = 0; j < 3; ++j) {
      largest = t(i, j) > largest ? t(i, j) : largest;  // applies strides and offset
    }
  }
  return largest;
}
// [/in]

int main() {
  image i(2, 3);
  i.data()[4] = 7;
  float const most = brightest(export_image(std::move(i)));
  std::printf("brightest pixel: %g\n", static_cast<double>(most));
  assert(most == 7);
  assert(brightest(export_image(image(0, 3))) < most);

  try {
    brightest(export_image(image(2, 4)));
    assert(!"a tensor of four columns was accepted");
  } catch (dlbridge::error const& e) {
    std::printf("refused: %s\n", e.what());
  }
  return most == 7 ? 0 : 1;
}
