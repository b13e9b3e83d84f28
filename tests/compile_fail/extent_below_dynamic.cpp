// Every extent is dynamic_extent, 0 or above, not only the first one.
// says: an extent is dynamic_extent, named<'n'> with a letter, 0 or above
#include <dlbridge/tensor.hpp>

#ifdef WRONG
dlbridge::shape<dlbridge::dynamic_extent, -2> const extents;
#else
dlbridge::shape<dlbridge::dynamic_extent, -1> const extents;
#endif
