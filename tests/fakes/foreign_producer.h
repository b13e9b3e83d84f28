// SPDX-License-Identifier: BSD-3-Clause
/* A producer and a consumer in plain C that include only dlpack.h. The producer counts deleter
 * calls. */
#ifndef FOREIGN_PRODUCER_H
#define FOREIGN_PRODUCER_H

#include <dlpack/dlpack.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FOREIGN_MAX_RANK = 80, FOREIGN_FLOATS = 64 };

/* A tensor. A test may change any field of its structs before it exports one. The deleter counts
   its calls and frees nothing, so that a test can call it twice and read the tensor afterwards. */
typedef struct foreign_tensor {
  DLManagedTensor legacy;
  struct DLManagedTensorVersioned versioned;
  int64_t shape[FOREIGN_MAX_RANK];
  int64_t strides[FOREIGN_MAX_RANK];
  float* data; /* FOREIGN_FLOATS elements, 0, 1, 2, ..., aligned to 256 bytes */
  int deleter_calls;
  void* block;
} foreign_tensor;

/* Returns a new tensor, float32[2, 3] on the CPU, row-major with explicit strides. Returns NULL
   when out of memory. The caller frees it with foreign_free. */
foreign_tensor* foreign_new(void);
void foreign_free(foreign_tensor* t);

/* Return a managed struct of the tensor. The consumer must call its deleter once. */
DLManagedTensor* foreign_legacy(foreign_tensor* t);
struct DLManagedTensorVersioned* foreign_versioned(foreign_tensor* t);

/* Sets the rank, the extents and row-major strides in both structs. */
void foreign_set_shape(foreign_tensor* t, int rank, const int64_t* shape);

/* Returns the sum of the elements, read through strides and byte offset. Supports float32, float64,
   int32, int64 and uint8, and returns NaN for any other dtype. NULL strides mean row-major. */
double foreign_sum(const DLTensor* t);

/* Consume a tensor: return its sum and call its deleter. */
double foreign_consume_legacy(DLManagedTensor* m);
double foreign_consume_versioned(struct DLManagedTensorVersioned* m);

#ifdef __cplusplus
}
#endif
#endif
