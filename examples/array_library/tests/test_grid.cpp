// grid::array over the border and back, as C++ libraries without Python meet.
#include <cstdio>
#include <utility>

#include <grid/dlpack.hpp>

namespace {

int failures = 0;

void expect(bool held, char const* what) {
  std::printf("%s %s\n", held ? "ok    " : "FAILED", what);
  failures += held ? 0 : 1;
}

// A consumer that knows nothing but dlpack.h.
double sum_as_a_stranger(DLManagedTensorVersioned* raw) {
  DLTensor const& t = raw->dl_tensor;
  auto const* first = reinterpret_cast<float const*>(static_cast<char*>(t.data) + t.byte_offset);
  double sum = 0;
  for (std::int64_t i = 0; i < t.shape[0]; ++i) {
    for (std::int64_t j = 0; j < t.shape[1]; ++j) {
      sum += static_cast<double>(first[i * t.strides[0] + j * t.strides[1]]);
    }
  }
  raw->deleter(raw);
  return sum;
}

}  // namespace

int main() {
  grid::array<float> a({2, 3});
  a.at({0, 1}) = 4;
  a.at({1, 2}) = 5;

  auto* const raw = dlbridge::build(a.transposed()).release_versioned();
  expect(raw->dl_tensor.data == a.data(), "the memory goes out as it is");
  expect(raw->dl_tensor.shape[0] == 3 && raw->dl_tensor.strides[0] == 1, "with its strides");
  expect(a.owners() == 2, "and is kept alive");
  expect(sum_as_a_stranger(raw) == 9, "strangers read it");
  expect(a.owners() == 1, "and let it go");

  {
    auto const back = dlbridge::adopt_as<grid::array<float>>(dlbridge::build(a.transposed()));
    expect(back.data() == a.data() && back.at({2, 1}) == 5, "a tensor comes in without a copy");
    auto const rows = back.transposed();
    expect(rows.at({1, 2}) == 5 && a.owners() == 2, "one owner stands behind all arrays on it");
  }
  expect(a.owners() == 1, "which goes with the last of them");

  try {
    dlbridge::adopt_as<grid::array<double>>(dlbridge::build(std::move(a)));
    expect(false, "float was taken for double");
  } catch (dlbridge::error const& e) {
    expect(e.code() == dlbridge::errc::dtype_mismatch, e.what());
  }
  return failures;
}
