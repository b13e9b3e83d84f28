// One call has one type: the result of the first element type, bool, would narrow all others.
// says: a visitor returns the same type for every element type
#include <dlbridge/tensor.hpp>

double use(dlbridge::any_tensor const& x) {
#ifdef WRONG
  return dlbridge::visit(x, [](auto span) { return *span.data(); });
#else
  return dlbridge::visit(x, [](auto span) { return static_cast<double>(*span.data()); });
#endif
}
