/* The C part of the small library in tests/python/tools: memory with a reference count, the
   deleters and capsule destructors of its exports, and the consumption of a capsule in one step. A
   deleter may run without the GIL, while an exception is set, and after the interpreter has ended.
   small_structs.py calls these functions with ctypes.
*/
#include <Python.h>
#include <dlpack/dlpack.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct {
  atomic_long uses;
  void* memory;
  void (*release)(void*); /* called with the memory when the count reaches 0; may be NULL */
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

/* A managed tensor, its shape and its strides are one block of malloc, which owns one reference. */

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

/* Renames a fresh capsule to its used name. Returns 1 in exactly one of several threads. */
int use_capsule(PyObject* capsule, const char* fresh, const char* used) {
  return PyCapsule_IsValid(capsule, fresh) && PyCapsule_SetName(capsule, used) == 0;
}

/* Defects of producers that Python code cannot imitate. */

void destroy_twice(PyObject* capsule) { destroy(capsule, "dltensor", "dltensor_versioned", 2); }

void destroy_blindly(PyObject* capsule) {
  destroy_capsule(capsule);
  destroy(capsule, "used_dltensor", "used_dltensor_versioned", 1);
}

void destroy_and_clear(PyObject* capsule) {
  destroy_capsule(capsule);
  PyErr_Clear();
}

void delete_nothing(void* managed) { (void)managed; } /* safe to call twice */

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
