// SPDX-License-Identifier: BSD-3-Clause
/* The control interface of a simulated driver: kernels, pending operations, race reports, failures
   on demand, counters and configuration.

   Both libcuda.so.1 and libamdhip64.so.6 export these functions, each for its own state. If a
   process loads both, look the functions up with dlsym in the library that is meant. Any thread may
   call them. The driver does not count these calls, and they do not fail on demand. A code is an
   error code of the driver, 0 for success. */
#ifndef SIMULATED_H
#define SIMULATED_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Kernels. They run late, like all operations on streams, and the driver checks them for
   races. Like real kernels they need a stream of the current context (in HIP: of the current
   device), and memory that the device can access. They return 400 (invalid handle) for a stream of
   another context, and 700 (illegal address) for other memory. A stream is a handle of the driver;
   0, 1 and 2 are the default streams. ---- */

/* Writes `value` to each of `bytes` bytes. */
int simulated_write(void* stream, void* to, unsigned char value, size_t bytes);
/* Copies bytes from one range to another. */
int simulated_copy(void* stream, void* to, const void* from, size_t bytes);
/* Reads bytes and has no result. For tests of operations that write at the same time. */
int simulated_read(void* stream, const void* from, size_t bytes);

/* ---- Access to memory: the present bytes, whatever operations are pending. ---- */

/* Both return 0, or 1 if the bytes are not inside one allocation of the driver. */
int simulated_peek(const void* from, void* out, size_t bytes);
int simulated_poke(void* to, const void* from, size_t bytes);

/* ---- Running pending operations. This does not order the host, or any later operation, after
   them. ---- */

/* The number of operations that have not run yet, including records of events and waits. */
size_t simulated_pending_count(void);
/* Runs all pending operations. Without a wait between them, newer operations run first. */
void simulated_run_pending(void);
/* Runs the operations of one stream, and those that they wait for. */
int simulated_run_stream(void* stream);

/* ---- Race reports. The driver reports two operations that access the same bytes, one of them
   writing, without a wait that orders them, and accesses to freed memory. Each report is one
   sentence that names both operations. ---- */

size_t simulated_race_count(void);
/* Writes a report, at most `size` bytes with the terminating null. Returns the size of the whole
   report with the null, or 0 if there is no report with this index. */
size_t simulated_race_report(size_t index, char* out, size_t size);
void simulated_clear_races(void);

/* ---- Misuse reports: calls with the handle of a destroyed stream, event or context, whose
   behaviour is undefined with a real driver. As for races. ---- */

size_t simulated_misuse_count(void);
size_t simulated_misuse_report(size_t index, char* out, size_t size);
void simulated_clear_misuses(void);

/* ---- Failures on demand. A call that fails on demand has no other effect. ---- */

/* Makes one call, of any function, return `code`: the next one for `count` 1. 0 cancels it. */
void simulated_fail_call(long count, int code);
/* Makes every call of a function return `code`, until a call with code 0. Returns 1 if the driver
   has no such function. */
int simulated_fail_function(const char* name, int code);
/* Cancels both. */
void simulated_clear_failures(void);
/* The number of calls of a function, including calls that failed on demand; of all functions for
   NULL; -1 if the driver has no such function. */
long simulated_call_count(const char* name);
void simulated_reset_call_counts(void);
/* The names of all functions of this driver, by index. NULL after the last one. */
const char* simulated_function_name(size_t index);

/* ---- Counters, by name; -1 for an unknown name.
     contexts                    contexts that exist
     retains                     references to primary contexts that were not released
     streams, events, graphs     objects that exist
     allocations, device_bytes   device memory, of all devices
     managed_bytes, pinned_bytes, registered_bytes
     pending                     as simulated_pending_count
     host_synchronizations       calls that made the host wait, including the next counter
     device_synchronizations     calls that waited for all streams
     races, misuses              as simulated_race_count and simulated_misuse_count ---- */
long long simulated_counter(const char* name);

/* ---- Configuration. The environment variable SIMULATED_DEVICES sets the number of devices. The
   library reads it on first use. The default is 2. ---- */

/* Bytes of memory on each device; 0 for no limit. */
void simulated_set_memory_limit(size_t bytes);
/* Whether kernels on one device can get access to the memory of another. The default is yes. */
void simulated_set_peer_access(int from, int to, int is_possible);
/* The number of nodes of a graph; -1 if it is not a graph. */
long simulated_graph_node_count(void* graph);

/* Restores the state at the start of a process, for the calling thread: runs pending operations,
   and removes contexts, memory, race reports, failures, counts and configuration. Handles are not
   reused. */
void simulated_reset(void);

#ifdef __cplusplus
}
#endif
#endif
