// SPDX-License-Identifier: BSD-3-Clause
// A number by reference is passed on, as the function may write to it: none is left to vectorise.
// says: vectorize needs a parameter that is a number, by value or by reference to const
#include <dlbridge/pybind11.hpp>
#include <dlbridge/python/call/vectorize.hpp>

#ifdef WRONG
using number = double&;
#else
using number = double const&;
#endif

void bind(pybind11::module_& m) {
  dlbridge::def(m, "twice", dlbridge::vectorize([](number x) { return 2 * x; }));
}
