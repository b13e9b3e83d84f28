// SPDX-License-Identifier: BSD-3-Clause
// A literal null is not a stream. default_of returns the default stream.
// says: write default_of\(device\)
#include <dlbridge/stream_ref.hpp>

#ifdef WRONG
dlbridge::stream_ref const stream(dlbridge::cpu, nullptr);
#else
dlbridge::stream_ref const stream(dlbridge::cpu, static_cast<void*>(nullptr));
#endif
