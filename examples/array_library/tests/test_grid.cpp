// SPDX-License-Identifier: BSD-3-Clause
// Exports and imports grid::array in C++, without Python.
#include <cstdio>
#include <utility>

#include <grid/dlpack.hpp>

namespace {

int failures = 0;

void expect(bool condition, char const* what) {
  std::printf("%s %s\n", condition ? "ok    " : "FAILED", what);
  failures += condition ? 0 : 1;
}

// A consumer that uses dlpack.h only.
double sum_of_foreign_tensor(DLManagedTensorVersioned* raw) {
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
  // [export]
  grid::array<float> a({2, 3});
  a.at({0, 1}) = 4;
  a.at({1, 2}) = 5;

  auto* const raw = dlbridge::build(a.transposed()).release_versioned();
  expect(raw->dl_tensor.data == a.data(), "the export shares the memory");
  expect(raw->dl_tensor.shape[0] == 3 && raw->dl_tensor.strides[0] == 1,
         "the export has the strides");
  expect(a.owners() == 2, "the export keeps the memory alive");
  expect(sum_of_foreign_tensor(raw) == 9, "a foreign consumer reads the elements");
  expect(a.owners() == 1, "the deleter releases the memory");
  // [/export]

  // [import]
  {
    auto const back = dlbridge::adopt_as<grid::array<float>>(dlbridge::build(a.transposed()));
    expect(back.data() == a.data() && back.at({2, 1}) == 5, "the import shares the memory");
    auto const rows = back.transposed();
    expect(rows.at({1, 2}) == 5 && a.owners() == 2, "the arrays on it share one owner");
  }
  expect(a.owners() == 1, "the last array releases the owner");
  // [/import]

  // [refusal]
  try {
    dlbridge::adopt_as<grid::array<double>>(dlbridge::build(std::move(a)));
    expect(false, "a float tensor was accepted as double");
  } catch (dlbridge::error const& e) {
    expect(e.code() == dlbridge::errc::dtype_mismatch, e.what());
  }
  // [/refusal]
  return failures;
}
