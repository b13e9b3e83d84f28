// A checked view points to the shape of its struct, so it cannot be of a temporary one.
// says: deleted (function|member function|constructor)
#include <dlbridge/view.hpp>

DLTensor make();

void use() {
  DLTensor const lent = make();
#ifdef WRONG
  dlbridge::view_of(make());
#else
  dlbridge::view_of(lent);
#endif
}
