// SPDX-License-Identifier: BSD-3-Clause
// says: this range has a shape, which borrow would lose
#include <dlbridge/dlbridge.hpp>

struct matrix {
  float elements[6];
  float* data() { return elements; }
  int size() const { return 6; }
  int rows() const { return 2; }
};

void f(matrix& m) {
#ifdef WRONG
  dlbridge::borrow(m);
#else
  dlbridge::borrow(m.data(), {2, 3});
#endif
}
