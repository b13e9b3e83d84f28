// SPDX-License-Identifier: BSD-3-Clause
// The results of a vectorised function are the elements of an array.
// says: a function for vectorize returns a number or nothing
#include <dlbridge/pybind11.hpp>
#include <dlbridge/python/call/vectorize.hpp>

#include <string>

void bind(pybind11::module_& m) {
#ifdef WRONG
  dlbridge::def(m, "text", dlbridge::vectorize([](double x) { return std::to_string(x); }));
#else
  dlbridge::def(m, "length",
                dlbridge::vectorize([](double x) { return std::to_string(x).size(); }));
#endif
}
