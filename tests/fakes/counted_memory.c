/* What the small library of tests/python cannot do in Python: memory with a count, the deleters and
   the capsule destructor of what is exported from it, which work without the GIL, while an exception
   is set and after the interpreter has ended; and taking a capsule in one step.
   small_structs.py reaches it by ctypes.
*/
#include <Python.h>
#include <dlpack/dlpack.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct {
  atomic_long uses;
  void* memory;
  void (*release)(void*); /* NULL: nobody wants to know */
} counted;

counted* counted_new(void* memory, void (*release)(void*)) {
  counted* self = malloc(sizeof *self);
  atomic_init(&self->uses, 1);
  self->memory = memory;
  self->release = release;
  return self;
}

void counted_share(counted* self) { atomic_fetch_add(&self->uses, 1); }

void counted_drop(counted* self) {
  if (atomic_fetch_sub(&self->uses, 1) != 1) {
    return;
  }
  if (self->release != NULL) {
    self->release(self->memory);
  }
  free(self);
}

/* A managed tensor, its shape and its strides are one block of malloc, and hold one use. */

void delete_legacy(DLManagedTensor* managed) {
  counted_drop(managed->manager_ctx);
  free(managed);
}

void delete_versioned(struct DLManagedTensorVersioned* managed) {
  counted_drop(managed->manager_ctx);
  free(managed);
}

void destroy_capsule(PyObject* capsule) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (PyCapsule_IsValid(capsule, "dltensor")) {
    DLManagedTensor* managed = PyCapsule_GetPointer(capsule, "dltensor");
    managed->deleter(managed);
  } else if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    struct DLManagedTensorVersioned* managed =
        PyCapsule_GetPointer(capsule, "dltensor_versioned");
    managed->deleter(managed);
  }
  PyErr_Restore(type, value, traceback);
}

/* Whether the capsule was fresh: it is used now, and of several threads one hears so. */
int use_capsule(PyObject* capsule, const char* fresh, const char* used) {
  return PyCapsule_IsValid(capsule, fresh) && PyCapsule_SetName(capsule, used) == 0;
}
