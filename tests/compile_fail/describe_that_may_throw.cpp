// describe runs between two owners, where an exception would leave none.
// says: array_traits<T>::describe must be noexcept
#include <dlbridge/builder.hpp>

#ifdef WRONG
#define SAYS_SO
#else
#define SAYS_SO noexcept
#endif

struct array {};
template <>
struct dlbridge::array_traits<array> {
  static description describe(array&) SAYS_SO { return description::of_nothing(); }
};

dlbridge::managed_tensor use() { return dlbridge::build(array()); }
