// A view points to the shape of its struct, so it cannot be of a temporary one.
// says: deleted (function|member function|constructor)
#include <dlbridge/view.hpp>

DLTensor make();

void use() {
  DLTensor const lent = make();
#ifdef WRONG
  dlbridge::tensor_view const view(make());
#else
  dlbridge::tensor_view const view(lent);
#endif
  static_cast<void>(view);
}
