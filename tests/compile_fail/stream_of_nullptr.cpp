// A literal null is no stream; the default stream is asked for by name.
// says: deleted (function|member function|constructor)
#include <dlbridge/stream.hpp>

#ifdef WRONG
dlbridge::stream_ref const used(dlbridge::cpu, nullptr);
#else
dlbridge::stream_ref const used(dlbridge::cpu, static_cast<void*>(nullptr));
#endif
