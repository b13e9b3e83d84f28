/* A producer and a consumer in plain C that know only dlpack.h, and count deleter calls. */
#ifndef FOREIGN_PRODUCER_H
#define FOREIGN_PRODUCER_H

#include <dlpack/dlpack.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FOREIGN_MAX_RANK = 80, FOREIGN_FLOATS = 64 };

/* One tensor, of which a test may break any field before it hands it out. It is not freed by its
   deleter, so that a late read is seen and a second call is counted. */
typedef struct foreign_tensor {
  DLManagedTensor legacy;
  struct DLManagedTensorVersioned versioned;
  int64_t shape[FOREIGN_MAX_RANK];
  int64_t strides[FOREIGN_MAX_RANK];
  float* data; /* FOREIGN_FLOATS of them, 0, 1, 2, ..., aligned to 256 bytes */
  int deleter_calls;
  void* block;
} foreign_tensor;

/* float32[2, 3] on the CPU, row-major with explicit strides; NULL when out of memory. */
foreign_tensor* foreign_new(void);
void foreign_free(foreign_tensor* t);

/* The tensor handed out; the other side owes its deleter one call. */
DLManagedTensor* foreign_legacy(foreign_tensor* t);
struct DLManagedTensorVersioned* foreign_versioned(foreign_tensor* t);

/* Sets rank and extents in both structs, and row-major strides. */
void foreign_set_shape(foreign_tensor* t, int rank, const int64_t* shape);

/* Reads a tensor as a consumer does, strides and byte offset included: the sum of its elements of
   float32, float64, int32, int64 or uint8, or NaN for anything else. NULL strides are row-major. */
double foreign_sum(const DLTensor* t);

/* Consumes: sums and calls the deleter. */
double foreign_consume_legacy(DLManagedTensor* m);
double foreign_consume_versioned(struct DLManagedTensorVersioned* m);

#ifdef __cplusplus
}
#endif
#endif
