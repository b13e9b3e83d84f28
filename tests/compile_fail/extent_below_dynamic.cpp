// An extent is any, 0 or above, also behind the first one.
// says: an extent is dynamic_extent, 0 or above
#include <dlbridge/tensor.hpp>

#ifdef WRONG
dlbridge::shape<dlbridge::dynamic_extent, -2> const used;
#else
dlbridge::shape<dlbridge::dynamic_extent, -1> const used;
#endif
