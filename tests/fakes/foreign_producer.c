// SPDX-License-Identifier: BSD-3-Clause
/* A producer and a consumer in plain C that include only dlpack.h. The producer counts deleter
 * calls. */
#include "foreign_producer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void count_legacy(DLManagedTensor* self) {
  ++((foreign_tensor*)self->manager_ctx)->deleter_calls;
}

static void count_versioned(struct DLManagedTensorVersioned* self) {
  ++((foreign_tensor*)self->manager_ctx)->deleter_calls;
}

static void describe(foreign_tensor* t, DLTensor* out) {
  memset(out, 0, sizeof *out);
  out->data = t->data;
  out->device.device_type = kDLCPU;
  out->dtype.code = kDLFloat;
  out->dtype.bits = 32;
  out->dtype.lanes = 1;
  out->shape = t->shape;
  out->strides = t->strides;
}

foreign_tensor* foreign_new(void) {
  static const int64_t shape[] = {2, 3};
  foreign_tensor* t = calloc(1, sizeof *t);
  char* block = malloc(FOREIGN_FLOATS * sizeof(float) + 256);
  int i;
  if (t == NULL || block == NULL) {
    free(t);
    free(block);
    return NULL;
  }
  t->block = block;
  t->data = (float*)(block + (256 - (uintptr_t)block % 256));
  for (i = 0; i < FOREIGN_FLOATS; ++i) {
    t->data[i] = (float)i;
  }
  describe(t, &t->legacy.dl_tensor);
  describe(t, &t->versioned.dl_tensor);
  t->legacy.manager_ctx = t;
  t->legacy.deleter = count_legacy;
  t->versioned.manager_ctx = t;
  t->versioned.deleter = count_versioned;
  t->versioned.version.major = 1;
  t->versioned.version.minor = 0;
  foreign_set_shape(t, 2, shape);
  return t;
}

void foreign_free(foreign_tensor* t) {
  if (t != NULL) {
    free(t->block);
    free(t);
  }
}

DLManagedTensor* foreign_legacy(foreign_tensor* t) { return &t->legacy; }
struct DLManagedTensorVersioned* foreign_versioned(foreign_tensor* t) { return &t->versioned; }

void foreign_set_shape(foreign_tensor* t, int rank, const int64_t* shape) {
  int64_t step = 1;
  int i;
  for (i = rank; i-- > 0;) {
    t->shape[i] = shape[i];
    t->strides[i] = step;
    step *= shape[i];
  }
  t->legacy.dl_tensor.ndim = rank;
  t->versioned.dl_tensor.ndim = rank;
}

static double read_element(const DLTensor* t, int64_t index) {
  const char* first = (const char*)t->data + t->byte_offset;
  const DLDataType* d = &t->dtype;
  if (d->lanes == 1 && d->code == kDLFloat && d->bits == 32) {
    return ((const float*)(const void*)first)[index];
  }
  if (d->lanes == 1 && d->code == kDLFloat && d->bits == 64) {
    return ((const double*)(const void*)first)[index];
  }
  if (d->lanes == 1 && d->code == kDLInt && d->bits == 32) {
    return ((const int32_t*)(const void*)first)[index];
  }
  if (d->lanes == 1 && d->code == kDLInt && d->bits == 64) {
    return (double)((const int64_t*)(const void*)first)[index];
  }
  if (d->lanes == 1 && d->code == kDLUInt && d->bits == 8) {
    return ((const unsigned char*)first)[index];
  }
  return NAN;
}

/* The sum over the dimensions from `axis` on. `index` is the offset in elements. */
static double sum_from(const DLTensor* t, int axis, int64_t index, int64_t row_major_step) {
  double total = 0;
  int64_t i;
  int64_t step;
  if (axis == t->ndim) {
    return read_element(t, index);
  }
  if (t->shape[axis] == 0) {
    return 0;
  }
  row_major_step /= t->shape[axis];
  step = t->strides != NULL ? t->strides[axis] : row_major_step;
  for (i = 0; i < t->shape[axis]; ++i) {
    total += sum_from(t, axis + 1, index + i * step, row_major_step);
  }
  return total;
}

double foreign_sum(const DLTensor* t) {
  int64_t count = 1;
  int i;
  for (i = 0; i < t->ndim; ++i) {
    count *= t->shape[i];
  }
  return sum_from(t, 0, 0, count);
}

double foreign_consume_legacy(DLManagedTensor* m) {
  const double sum = foreign_sum(&m->dl_tensor);
  if (m->deleter != NULL) {
    m->deleter(m);
  }
  return sum;
}

double foreign_consume_versioned(struct DLManagedTensorVersioned* m) {
  const double sum = foreign_sum(&m->dl_tensor);
  if (m->deleter != NULL) {
    m->deleter(m);
  }
  return sum;
}
