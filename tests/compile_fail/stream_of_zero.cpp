// 0 is the one stream that the protocol bans; the default stream is asked for by name.
// says: deleted (function|member function|constructor)
#include <dlbridge/stream.hpp>

#ifdef WRONG
dlbridge::stream_ref const used(dlbridge::cpu, 0);
#else
dlbridge::stream_ref const used = dlbridge::stream_ref::default_of(dlbridge::cpu);
#endif
