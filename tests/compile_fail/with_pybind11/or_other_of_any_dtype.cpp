// SPDX-License-Identifier: BSD-3-Clause
// Numbers have no dtype of their own, so that a parameter of any dtype cannot choose one.
// says: or_other<P, numbers> copies numbers to elements of P. Write a P with an element type
// lines: 48
#include <dlbridge/pybind11.hpp>

#ifdef WRONG
using parameter = dlbridge::any_tensor;
#else
using parameter = dlbridge::tensor<double const>;
#endif

PYBIND11_MODULE(numbers, m) {
  dlbridge::def(m, "is_read_only", [](dlbridge::or_other<parameter, dlbridge::numbers> const& x) {
    return x.view().read_only();
  });
}
