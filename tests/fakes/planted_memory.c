// SPDX-License-Identifier: BSD-3-Clause
/* The C part of the library planted in tests/python/tools: blocks of memory with a count of their
   holders, the deleters and capsule destructors of its exports, the consumption of a capsule in one
   step, and the functions of an exchange table. A deleter may run without the GIL, while an
   exception is set, and after the interpreter has ended. planted/native.py calls them by ctypes.
*/
#include <Python.h>
#include <dlpack/dlpack.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct {
  atomic_long holders;
  void* memory;
  void (*release)(void*); /* called with the memory by the last holder; may be NULL */
} block;

block* block_new(void* memory, void (*release)(void*)) {
  block* self = malloc(sizeof *self);
  atomic_init(&self->holders, 1);
  self->memory = memory;
  self->release = release;
  return self;
}

void block_hold(block* self) { atomic_fetch_add(&self->holders, 1); }

void block_drop(block* self) {
  if (atomic_fetch_sub(&self->holders, 1) != 1) {
    return;
  }
  if (self->release != NULL) {
    self->release(self->memory);
  }
  free(self);
}

/* A managed tensor, its shape and its strides are one allocation, which is a holder of a block. */

void delete_legacy(DLManagedTensor* managed) {
  block_drop(managed->manager_ctx);
  free(managed);
}

void delete_versioned(struct DLManagedTensorVersioned* managed) {
  block_drop(managed->manager_ctx);
  free(managed);
}

/* Calls the deleter of a fresh capsule, where it has one, and keeps the pending exception. */
void destroy(PyObject* capsule) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (PyCapsule_IsValid(capsule, "dltensor")) {
    DLManagedTensor* managed = PyCapsule_GetPointer(capsule, "dltensor");
    if (managed->deleter != NULL) {
      managed->deleter(managed);
    }
  } else if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    struct DLManagedTensorVersioned* managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    if (managed->deleter != NULL) {
      managed->deleter(managed);
    }
  }
  PyErr_Restore(type, value, traceback);
}

/* Renames a fresh capsule to its used name. Returns 1 in exactly one of several threads. */
int use_capsule(PyObject* capsule, const char* fresh, const char* used) {
  return PyCapsule_IsValid(capsule, fresh) && PyCapsule_SetName(capsule, used) == 0;
}

/* The exchange table: every function calls one of Python, whose exception it leaves set. ---------
 */

static PyObject *on_allocate, *on_export, *on_import, *on_lend, *on_stream;

void exchange_use(PyObject* allocate, PyObject* give, PyObject* take, PyObject* lend,
                  PyObject* stream) {
  Py_XINCREF(on_allocate = allocate);
  Py_XINCREF(on_export = give);
  Py_XINCREF(on_import = take);
  Py_XINCREF(on_lend = lend);
  Py_XINCREF(on_stream = stream);
}

/* Writes the address that a call returned. Returns -1 where it raised. */
static int store(PyObject* address, void** out) {
  *out = address != NULL ? PyLong_AsVoidPtr(address) : NULL;
  Py_XDECREF(address);
  return PyErr_Occurred() ? -1 : 0;
}

int exchange_allocate(void* prototype, void** out, void* context,
                      void (*set_error)(void*, const char*, const char*)) {
  PyGILState_STATE gil = PyGILState_Ensure();
  int code = store(PyObject_CallFunction(on_allocate, "N", PyLong_FromVoidPtr(prototype)), out);
  if (code != 0) {
    PyErr_Clear();
    set_error(context, "BufferError", "the planted library cannot allocate this tensor");
  }
  PyGILState_Release(gil);
  return code;
}

int exchange_export(void* object, void** out) {
  return store(PyObject_CallFunctionObjArgs(on_export, (PyObject*)object, NULL), out);
}

int exchange_import(void* managed, void** out) {
  PyObject* result = PyObject_CallFunction(on_import, "N", PyLong_FromVoidPtr(managed));
  *out = result;
  return result != NULL ? 0 : -1;
}

int exchange_lend(void* object, void* out) {
  PyObject* result =
      PyObject_CallFunction(on_lend, "ON", (PyObject*)object, PyLong_FromVoidPtr(out));
  Py_XDECREF(result);
  return result != NULL ? 0 : -1;
}

int exchange_stream(int type, int id, void** out) {
  PyGILState_STATE gil = PyGILState_Ensure();
  int code = store(PyObject_CallFunction(on_stream, "ii", type, id), out);
  PyGILState_Release(gil);
  return code;
}

/* Permitted behaviour of other libraries ----------------------------------------------------------
 */

static void* drop_later(void* held) {
  block_drop(held);
  return NULL;
}

/* Releases the memory on a thread of its own. */
static void drop_elsewhere(void* held) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, drop_later, held) == 0) {
    pthread_detach(thread);
  }
}

void delete_legacy_elsewhere(DLManagedTensor* managed) {
  drop_elsewhere(managed->manager_ctx);
  free(managed);
}

void delete_versioned_elsewhere(struct DLManagedTensorVersioned* managed) {
  drop_elsewhere(managed->manager_ctx);
  free(managed);
}

/* Finds the holder in front of the struct, whose manager_ctx is NULL. Both structs fit. */
void delete_hidden(void* managed) {
  void** allocation = (void**)managed - 2;
  block_drop(allocation[0]);
  free(allocation);
}

/* Defects that Python code cannot imitate ---------------------------------------------------------
 */

void delete_nothing(void* managed) { (void)managed; } /* safe to call twice */

void destroy_twice(PyObject* capsule) {
  destroy(capsule);
  destroy(capsule);
}

/* Also frees the legacy tensor of a consumed capsule. */
void destroy_blindly(PyObject* capsule) {
  destroy(capsule);
  if (PyCapsule_IsValid(capsule, "used_dltensor")) {
    DLManagedTensor* managed = PyCapsule_GetPointer(capsule, "used_dltensor");
    managed->deleter(managed);
  }
}

void destroy_and_clear(PyObject* capsule) {
  destroy(capsule);
  PyErr_Clear();
}

void delete_legacy_with_gil(DLManagedTensor* managed) {
  if (!PyGILState_Check()) {
    Py_FatalError("a deleter was called without the GIL");
  }
  delete_legacy(managed);
}

/* Leaks the struct, with its shape and its strides. */
void delete_versioned_but_the_struct(struct DLManagedTensorVersioned* managed) {
  block_drop(managed->manager_ctx);
}
