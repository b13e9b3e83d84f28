// A span that is returned would look at memory that nobody keeps.
// says: a tensor_span that is returned would outlive what it looks at
#include <dlbridge/pybind11.hpp>

PYBIND11_MODULE(bad, m) {
#ifdef WRONG
  dlbridge::def(m, "same", [](dlbridge::tensor_span<float> x) { return x; });
#else
  dlbridge::def(m, "same", [](dlbridge::tensor<float> x) { return x; });
#endif
}
