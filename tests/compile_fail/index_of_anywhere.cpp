// Memory that may lie anywhere may lie where the CPU cannot read it.
// says: the CPU cannot index device memory
#include <dlbridge/tensor.hpp>

#ifdef WRONG
using place = dlbridge::anywhere;
#else
using place = dlbridge::on<kDLCUDAManaged>;
#endif

float use(dlbridge::tensor_span<float, dlbridge::shape<dlbridge::any>, place> x) { return x(1); }
