// SPDX-License-Identifier: BSD-3-Clause
// A C++ program without Python. It exports arrays to a plain-C consumer and imports a tensor of a
// plain-C producer.
#include <dlbridge/dlbridge.hpp>

#include <cstdio>
#include <utility>
#include <vector>

#if __has_include(<version>)
#include <version>
#endif
#if defined(__cpp_lib_mdspan)
#include <mdspan>
#endif

#include "foreign_producer.h"

// This program uses no bridge, but the installed headers must include them.
#if !__has_include(<dlbridge/bridges/eigen.hpp>)
#error "dlbridge was installed without its bridges"
#endif

#if __has_include(<Python.h>)
#error "Python.h must not be on the include path of this program"
#endif

namespace {

// An array class without DLPack support.
class image {
 public:
  image(int rows, int columns) : rows_(rows), pixels_(static_cast<std::size_t>(rows * columns)) {
    for (std::size_t i = 0; i < pixels_.size(); ++i) {
      pixels_[i] = static_cast<float>(i);
    }
  }
  int rows() const { return rows_; }
  int columns() const { return static_cast<int>(pixels_.size()) / rows_; }
  float* data() { return pixels_.data(); }

 private:
  int rows_;
  std::vector<float> pixels_;
};

int faults = 0;
void expect(bool holds, char const* what) {
  std::printf("%s %s\n", holds ? "ok    " : "FAILED", what);
  faults += holds ? 0 : 1;
}

}  // namespace

template <>
struct dlbridge::array_traits<image> {
  static description describe(image& i) noexcept {
    return description::of(i.data(), {i.rows(), i.columns()});
  }
};

int main() {
  auto vector = dlbridge::build(std::vector<double>{1, 2, 3.5});
  expect(foreign_consume_versioned(vector.release_versioned()) == 6.5,
         "a vector, read by the C consumer");

  auto legacy = dlbridge::to_legacy(dlbridge::build(image(2, 3)));
  expect(foreign_consume_legacy(legacy.release_legacy()) == 15, "a class, as a legacy tensor");

  foreign_tensor* const foreign = foreign_new();
  {
    auto tensor = dlbridge::managed_tensor::steal(foreign_versioned(foreign));
    dlbridge::tensor_span<float const, dlbridge::shape<dlbridge::dynamic_extent, 3>> const span{
        tensor};
    expect(span.data() == foreign->data && span(1, 2) == 5,
           "a C tensor as tensor_span, without a copy");
#if defined(__cpp_lib_mdspan)
    auto const grid = dlbridge::as<std::mdspan<float const, std::dextents<int, 2>>>(tensor);
    expect(grid.data_handle() == foreign->data && grid[1, 2] == 5,
           "a C tensor as std::mdspan, without a copy");
#endif
    expect(foreign->deleter_calls == 0, "the deleter was not called early");
  }
  expect(foreign->deleter_calls == 1, "the deleter was called once");
  foreign_free(foreign);
  return faults;
}
