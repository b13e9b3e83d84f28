// SPDX-License-Identifier: BSD-3-Clause
// A tensor moves to its Python object, so that a function returns no reference to an argument.
// lines: 80
// says: a tensor is returned by value. Return one that a function takes by value with std::move
#include <dlbridge/pybind11.hpp>

using argument = dlbridge::argument<float>;

PYBIND11_MODULE(bad, m) {
#ifdef WRONG
  dlbridge::def(m, "same", [](argument const& x) -> argument const& { return x; });
#else
  dlbridge::def(m, "same", [](argument x) { return x; });
#endif
}
