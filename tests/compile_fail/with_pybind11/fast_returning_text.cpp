// A fast function returns a tensor, a number or nothing.
// says: def_fast returns nothing, a number or a tensor
#include <dlbridge/pybind11.hpp>

PYBIND11_MODULE(bad, m) {
#ifdef WRONG
  dlbridge::def_fast(m, "name", [](int) { return "text"; });
#else
  dlbridge::def_fast(m, "name", [](int x) { return x; });
#endif
}
