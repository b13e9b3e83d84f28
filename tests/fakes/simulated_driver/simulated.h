/* Control over a simulated driver: late work, reports of races, failures on demand, counters.

   Both libcuda.so.1 and libamdhip64.so.6 export these functions, each for itself: where both are
   loaded, look them up in the one that is meant. Any thread may call them. What is called a code is
   one of the driver's own error codes, 0 for success. What these functions do is counted nowhere
   and never made to fail. */
#ifndef SIMULATED_H
#define SIMULATED_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Kernels. They run late, as all work on streams does, and are watched for races. Like real
   ones they need a stream of the current context (of the current device in HIP), and memory that
   the device can reach: 700, illegal address, otherwise, and 400 for a stream of another context.
   Streams are the driver's handles; 0, 1 and 2 are the default streams. ---- */

/* Writes `value` to each of `bytes` bytes. */
int simulated_write(void* stream, void* to, unsigned char value, size_t bytes);
/* Copies from one range to another. */
int simulated_copy(void* stream, void* to, const void* from, size_t bytes);
/* Reads the bytes, and has no result: for tests of who may write meanwhile. */
int simulated_read(void* stream, const void* from, size_t bytes);

/* ---- Looking, without any order: what is in memory now, whatever is still to run. ---- */

/* 0, or 1 when the bytes are not in one live allocation of the driver's. */
int simulated_peek(const void* from, void* out, size_t bytes);
int simulated_poke(void* to, const void* from, size_t bytes);

/* ---- Letting work run. The host does not learn of it: what is unordered stays so. ---- */

/* How many works have not run yet, events and waits among them. */
size_t simulated_pending(void);
/* Runs all of it, newest first where no wait forbids. */
void simulated_drain(void);
/* Runs what is on one stream, and what that waits for. */
int simulated_drain_stream(void* stream);

/* ---- Races: works on the same bytes, one of them writing, that nothing puts in order, and uses of
   memory that was freed. One sentence for each, which names both works. ---- */

size_t simulated_race_count(void);
/* Writes at most `size` bytes, the ending 0 among them. How many the whole sentence needs, or 0
   where there is no such report. */
size_t simulated_race(size_t index, char* out, size_t size);
void simulated_forget_races(void);

/* ---- Failures. A call that is made to fail does nothing else. ---- */

/* The `count`-th call from now, of any function, gives `code`; 1 is the next one, 0 none. */
void simulated_fail_call(long count, int code);
/* Every call of the function gives `code`, until 0 is set. 1 when there is no such function. */
int simulated_fail_function(const char* name, int code);
/* Neither of the two any more. */
void simulated_stop_failing(void);
/* How often a function was called, made to fail or not; all of them together for NULL; -1 for a
   function that there is not. */
long simulated_calls(const char* name);
void simulated_forget_calls(void);
/* All functions of this driver, by name. NULL past the last one. */
const char* simulated_function_name(size_t index);

/* ---- Counters, by name; -1 for a name that there is not.
     contexts, retains           alive; retains of primary ones that are not released
     streams, events, graphs     alive
     allocations, device_bytes   device memory, of all devices
     managed_bytes, pinned_bytes, registered_bytes
     pending                     as simulated_pending
     host_synchronizations       calls that made the host wait, the next among them
     device_synchronizations     those that waited for all streams
     races                       as simulated_race_count ---- */
long long simulated_counter(const char* name);

/* ---- Circumstances. The number of devices is read from the environment variable SIMULATED_DEVICES
   when the library is first used, and is 2 without it. ---- */

/* Bytes of memory on each device; 0 for no limit. */
void simulated_set_memory_limit(size_t bytes);
/* Whether kernels on one device can be given access to the memory of another. At first they can. */
void simulated_set_peer_access(int from, int to, int is_possible);
/* How many works were captured into a graph; -1 for what is none. */
long simulated_graph_works(void* graph);

/* As if the process had just begun, for the calling thread: runs what is pending, forgets contexts,
   memory, races, failures, counts and circumstances. Handles do not come back. */
void simulated_reset(void);

#ifdef __cplusplus
}
#endif
#endif
