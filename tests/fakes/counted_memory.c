/* What the small library of tests/python cannot do in Python: memory with a count, the deleters and
   the capsule destructor of what is exported from it, which work without the GIL, while an
   exception is set and after the interpreter has ended; and taking a capsule in one step.
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

static void destroy(PyObject* capsule, const char* legacy, const char* versioned, int times) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  for (; times > 0; --times) {
    if (PyCapsule_IsValid(capsule, legacy)) {
      DLManagedTensor* managed = PyCapsule_GetPointer(capsule, legacy);
      managed->deleter(managed);
    } else if (PyCapsule_IsValid(capsule, versioned)) {
      struct DLManagedTensorVersioned* managed = PyCapsule_GetPointer(capsule, versioned);
      managed->deleter(managed);
    }
  }
  PyErr_Restore(type, value, traceback);
}

void destroy_capsule(PyObject* capsule) { destroy(capsule, "dltensor", "dltensor_versioned", 1); }

/* Whether the capsule was fresh: it is used now, and of several threads one hears so. */
int use_capsule(PyObject* capsule, const char* fresh, const char* used) {
  return PyCapsule_IsValid(capsule, fresh) && PyCapsule_SetName(capsule, used) == 0;
}

/* Defects, of those that Python cannot play either. */

void destroy_twice(PyObject* capsule) { destroy(capsule, "dltensor", "dltensor_versioned", 2); }

void destroy_blindly(PyObject* capsule) {
  destroy_capsule(capsule);
  destroy(capsule, "used_dltensor", "used_dltensor_versioned", 1);
}

void destroy_and_clear(PyObject* capsule) {
  destroy_capsule(capsule);
  PyErr_Clear();
}

void delete_nothing(void* managed) { (void)managed; } /* may be called twice */

static void need_gil(void) {
  if (!PyGILState_Check()) {
    Py_FatalError("a deleter was called without the GIL");
  }
}

void delete_legacy_with_gil(DLManagedTensor* managed) {
  need_gil();
  delete_legacy(managed);
}

void delete_versioned_with_gil(struct DLManagedTensorVersioned* managed) {
  need_gil();
  delete_versioned(managed);
}
