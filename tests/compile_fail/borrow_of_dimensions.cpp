// SPDX-License-Identifier: BSD-3-Clause
// An array whose extents are dimensions(), as Eigen's tensors have them.
// says: this range has a shape, which borrow would lose
#include <dlbridge/dlbridge.hpp>

struct array {
  float elements[6];
  float* data() { return elements; }
  int size() const { return 6; }
  int const* dimensions() const;
};

void f(array& a) {
#ifdef WRONG
  dlbridge::borrow(a);
#else
  dlbridge::borrow(a.data(), {2, 3});
#endif
}
