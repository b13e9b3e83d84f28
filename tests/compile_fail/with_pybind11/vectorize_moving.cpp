// SPDX-License-Identifier: BSD-3-Clause
// A function that is called for each element cannot take an argument away.
// says: vectorize calls the function for each element. Take an argument by value or by lvalue
#include <dlbridge/pybind11.hpp>
#include <dlbridge/python/call/vectorize.hpp>

#include <string>

#ifdef WRONG
using text = std::string&&;
#else
using text = std::string const&;
#endif

void bind(pybind11::module_& m) {
  dlbridge::def(m, "sized", dlbridge::vectorize([](text t, double x) {
                  return x * static_cast<double>(t.size());
                }));
}
