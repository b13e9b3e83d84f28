// A program that exchanges tensors, and an exception, with a static library of the other mode.
// SPDX-License-Identifier: BSD-3-Clause
#include <dlbridge/dlbridge.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "library.hpp"

static void require(bool holds, char const* what) {
  if (!holds) {
    std::fprintf(stderr, "wrong: %s\n", what);
    std::exit(1);
  }
}

int main() {
  int deleted = 0;
  dlbridge::managed_tensor x = library::counted(deleted);
  require(library::total(x.view()) == 3, "the total of the library's tensor");
  dlbridge::tensor<float, dlbridge::shape<3>> mine(std::move(x));
  mine(0) = 4;
  require(library::total(mine.view()) == 7, "the total after a change by the program");
  require(deleted == 0, "the tensor lives");
  mine = dlbridge::tensor<float, dlbridge::shape<3>>(library::counted(deleted));
  require(deleted == 1, "the program deleted one tensor");
  library::take(std::move(mine).release());
  require(deleted == 2, "the library deleted the other one");
  library::take(dlbridge::build(std::vector<double>(5)));

  dlbridge::managed_tensor const doubles = dlbridge::build(std::vector<double>{1, 2});
  try {
    library::total(doubles.view());
    require(false, "the library took doubles");
  } catch (dlbridge::error const& e) {
    require(e.code() == dlbridge::errc::dtype_mismatch, "the code of the exception");
    require(std::strstr(e.what(), "expected float32[*] on cpu; got float64[2] on cpu") != nullptr,
            e.what());
  }
}
