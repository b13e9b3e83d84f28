// Plain pybind11 refuses a span as a result in the same words.
// says: a tensor_span that is returned would outlive what it looks at
#include <dlbridge/pybind11.hpp>

PYBIND11_MODULE(bad, m) {
#ifdef WRONG
  m.def("same", [](dlbridge::tensor_span<float> x) { return x; });
#else
  m.def("same", [](dlbridge::tensor<float> x) { return x; });
#endif
}
