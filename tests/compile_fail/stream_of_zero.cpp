// SPDX-License-Identifier: BSD-3-Clause
// The protocol forbids the stream 0 on CUDA. default_of returns the default stream.
// says: write default_of\(device\)
#include <dlbridge/stream_ref.hpp>

#ifdef WRONG
dlbridge::stream_ref const stream(dlbridge::cpu, 0);
#else
dlbridge::stream_ref const stream = dlbridge::stream_ref::default_of(dlbridge::cpu);
#endif
