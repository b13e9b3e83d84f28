// The elements of a temporary container are gone before anybody reads them.
// says: borrow does not keep a container alive
#include <dlbridge/bridges/std.hpp>

std::vector<float> make();

void use() {
  std::vector<float> kept = make();
#ifdef WRONG
  dlbridge::borrow(make());
#else
  dlbridge::borrow(kept);
#endif
}
