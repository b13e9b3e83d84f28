// SPDX-License-Identifier: BSD-3-Clause
// No binding converts a view without an element type.
// says: a tensor_view or a broadcast_span is neither a parameter nor a result
#include <dlbridge/pybind11.hpp>

PYBIND11_MODULE(example, m) {
#ifdef WRONG
  dlbridge::def(m, "count", [](dlbridge::tensor_view x) { return x.count(); });
#else
  dlbridge::def(m, "count", [](dlbridge::any_argument const& x) { return x.view().count(); });
#endif
}
