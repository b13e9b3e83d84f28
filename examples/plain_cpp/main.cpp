// An array class learns DLPack from one hook, goes out as a managed tensor, and takes others in.
#include <cassert>
#include <cstdio>
#include <utility>
#include <vector>

// [hook]
#include <dlbridge/dlbridge.hpp>

class image {  // your array; it knows nothing of DLPack
 public:
  image(int rows, int columns) : rows_(rows), columns_(columns), pixels_(rows * columns) {}
  int rows() const { return rows_; }
  int columns() const { return columns_; }
  float* data() { return pixels_.data(); }

 private:
  int rows_, columns_;
  std::vector<float> pixels_;
};

template <>
struct dlbridge::array_traits<image> {
  static description describe(image& i) noexcept {
    return description::of(i.data(), {i.rows(), i.columns()});
  }
};
// [/hook]

// [out]
DLManagedTensorVersioned* give(image i) {
  return dlbridge::build(std::move(i)).release_versioned();  // the image lives in it
}
// [/out]

// [in]
float brightest(DLManagedTensorVersioned* raw) {
  // Owns from here on, also when a check fails: then the deleter has run, and error says why.
  auto owned = dlbridge::managed_tensor::steal(raw);
  dlbridge::tensor<float const, dlbridge::shape<dlbridge::dynamic_extent, 3>> const t{
      std::move(owned)};
  float most = t(0, 0);
  for (int i = 0; i < t.extent(0); ++i) {
    for (int j = 0; j < 3; ++j) {
      most = t(i, j) > most ? t(i, j) : most;  // strides and offsets are taken care of
    }
  }
  return most;
}
// [/in]

int main() {
  image i(2, 3);
  i.data()[4] = 7;
  float const most = brightest(give(std::move(i)));
  std::printf("brightest pixel: %g\n", static_cast<double>(most));
  assert(most == 7);

  try {
    brightest(give(image(2, 4)));
    assert(!"four columns were taken for three");
  } catch (dlbridge::error const& e) {
    std::printf("refused: %s\n", e.what());
  }
  return most == 7 ? 0 : 1;
}
