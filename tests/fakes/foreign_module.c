// SPDX-License-Identifier: BSD-3-Clause
/* The Python module `foreign`: a producer and a consumer in plain C that include only Python.h,
   dlpack.h and foreign_producer.h. tests/python/foreign.pyi describes it.
*/
#include "foreign_module.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_LOGGED_CALLS = 8, MAX_AT_EXIT = 16 };

static const char* const fresh[] = {"dltensor", "dltensor_versioned"};
static const char* const used[] = {"used_dltensor", "used_dltensor_versioned"};

/* ---- exported tensors and their deleter calls ---- */

typedef struct {
  int gil;
  int pending;
  unsigned long thread;
} call;

/* A foreign tensor with the counts of its exports and deleter calls. It is freed when its Handle is
   gone and the deleter of each exported struct was called. */
typedef struct {
  foreign_tensor* tensor;
  int has_handle;
  int exports; /* exported managed tensors; each needs one deleter call */
  int calls;
  call log[MAX_LOGGED_CALLS];
} exported_tensor;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total_exports;
static long total_calls;

static void free_exported_tensor(exported_tensor* self) {
  foreign_free(self->tensor);
  free(self);
}

static void count_call(exported_tensor* self) {
  call now = {0, 0, 0};
  int last;
  if (Py_IsInitialized()) {
    now.gil = PyGILState_Check();
    now.pending = now.gil && PyErr_Occurred() != NULL;
    now.thread = PyThread_get_thread_ident();
  }
  pthread_mutex_lock(&lock);
  if (self->calls < MAX_LOGGED_CALLS) {
    self->log[self->calls] = now;
  }
  ++self->calls;
  ++total_calls;
  last = !self->has_handle && self->calls == self->exports;
  pthread_mutex_unlock(&lock);
  if (last) {
    free_exported_tensor(self);
  }
}

static void delete_legacy(DLManagedTensor* m) { count_call(m->manager_ctx); }
static void delete_versioned(struct DLManagedTensorVersioned* m) { count_call(m->manager_ctx); }

/* ---- functions for both struct kinds: versioned is 0 or 1 ---- */

static const DLTensor* tensor_of(int versioned, const void* managed) {
  return versioned ? &((const struct DLManagedTensorVersioned*)managed)->dl_tensor
                   : &((const DLManagedTensor*)managed)->dl_tensor;
}

static int has_deleter(int versioned, const void* managed) {
  return versioned ? ((const struct DLManagedTensorVersioned*)managed)->deleter != NULL
                   : ((const DLManagedTensor*)managed)->deleter != NULL;
}

static void call_deleter(int versioned, void* managed) {
  if (versioned) {
    struct DLManagedTensorVersioned* m = managed;
    if (m->deleter != NULL) {
      m->deleter(m);
    }
  } else {
    DLManagedTensor* m = managed;
    if (m->deleter != NULL) {
      m->deleter(m);
    }
  }
}

/* ---- Handle: the producer's side of an exported tensor ---- */

typedef struct {
  PyObject_HEAD exported_tensor* exported;
} handle;

static PyTypeObject call_type;
static PyTypeObject handle_type;
static PyTypeObject consumed_type;

static void handle_dealloc(PyObject* self) {
  exported_tensor* exported = ((handle*)self)->exported;
  int last;
  pthread_mutex_lock(&lock);
  exported->has_handle = 0;
  last = exported->calls >= exported->exports;
  pthread_mutex_unlock(&lock);
  if (last) {
    free_exported_tensor(exported);
  }
  PyObject_Free(self);
}

static PyObject* handle_calls(PyObject* self, void* unused) {
  (void)unused;
  return PyLong_FromLong(((handle*)self)->exported->calls);
}

static PyObject* handle_exports(PyObject* self, void* unused) {
  (void)unused;
  return PyLong_FromLong(((handle*)self)->exported->exports);
}

static PyObject* handle_address(PyObject* self, void* unused) {
  (void)unused;
  return PyLong_FromVoidPtr(((handle*)self)->exported->tensor->data);
}

static PyObject* handle_log(PyObject* self, void* unused) {
  exported_tensor* exported = ((handle*)self)->exported;
  PyObject* list = PyList_New(0);
  int i;
  (void)unused;
  for (i = 0; list != NULL && i < exported->calls && i < MAX_LOGGED_CALLS; ++i) {
    PyObject* item = PyStructSequence_New(&call_type);
    if (item == NULL) {
      Py_CLEAR(list);
      break;
    }
    PyStructSequence_SetItem(item, 0, PyBool_FromLong(exported->log[i].gil));
    PyStructSequence_SetItem(item, 1, PyBool_FromLong(exported->log[i].pending));
    PyStructSequence_SetItem(item, 2, PyLong_FromUnsignedLong(exported->log[i].thread));
    if (PyList_Append(list, item) != 0) {
      Py_CLEAR(list);
    }
    Py_DECREF(item);
  }
  return list;
}

/* snapshot(): all bytes of the producer that a consumer could write to: the structs, the shape, the
   strides and the elements. */
static PyObject* handle_snapshot(PyObject* self, PyObject* unused) {
  foreign_tensor* t = ((handle*)self)->exported->tensor;
  PyObject* structs = PyBytes_FromStringAndSize((const char*)t, sizeof *t);
  PyObject* elements =
      PyBytes_FromStringAndSize((const char*)t->data, FOREIGN_FLOATS * (Py_ssize_t)sizeof(float));
  (void)unused;
  if (structs != NULL && elements != NULL) {
    PyBytes_Concat(&structs, elements);
  }
  Py_XDECREF(elements);
  return structs;
}

static void destroy_by_name(PyObject* capsule, int versioned) {
  if (PyCapsule_IsValid(capsule, fresh[versioned])) {
    PyObject* type;
    PyObject* value;
    PyObject* traceback;
    PyErr_Fetch(&type, &value, &traceback);
    call_deleter(versioned, PyCapsule_GetPointer(capsule, fresh[versioned]));
    PyErr_Restore(type, value, traceback);
  }
}
/* As specified: call the deleter when no consumer has renamed the capsule. */
static void destroy_legacy(PyObject* capsule) { destroy_by_name(capsule, 0); }
static void destroy_versioned(PyObject* capsule) { destroy_by_name(capsule, 1); }
/* The defect of some producers: calls the deleter whatever the name is. */
static void destroy_blindly(PyObject* capsule) {
  const char* name = PyCapsule_GetName(capsule);
  call_deleter(name != NULL && strstr(name, "versioned") != NULL,
               PyCapsule_GetPointer(capsule, name));
}
/* The defect of other producers: clears a pending exception. */
static void destroy_and_clear(PyObject* capsule) {
  const char* name = PyCapsule_GetName(capsule);
  destroy_by_name(capsule, name != NULL && strstr(name, "versioned") != NULL);
  PyErr_Clear();
}

static PyCapsule_Destructor find_destructor(const char* kind, int versioned) {
  if (strcmp(kind, "blind") == 0) {
    return destroy_blindly;
  }
  if (strcmp(kind, "clears") == 0) {
    return destroy_and_clear;
  }
  return versioned ? destroy_versioned : destroy_legacy;
}

static void count_export(exported_tensor* exported, int versioned, const void* managed) {
  if (has_deleter(versioned, managed)) {
    pthread_mutex_lock(&lock);
    ++exported->exports;
    ++total_exports;
    pthread_mutex_unlock(&lock);
  }
}

/* capsule(versioned=False, *, name=<the fresh one>, destructor="spec") */
static PyObject* handle_capsule(PyObject* self, PyObject* args, PyObject* keywords) {
  static char* accepted[] = {"versioned", "name", "destructor", NULL};
  static char names[64][32]; /* a capsule stores only a pointer to its name */
  static int used_names;
  exported_tensor* exported = ((handle*)self)->exported;
  int versioned = 0;
  PyObject* name = Py_Ellipsis;
  const char* kind = "spec";
  const char* text;
  void* managed;
  PyObject* capsule;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|p$Os", accepted, &versioned, &name, &kind)) {
    return NULL;
  }
  text = fresh[versioned];
  if (name == Py_None) {
    text = NULL;
  } else if (name != Py_Ellipsis) {
    const char* bytes = PyBytes_AsString(name);
    if (bytes == NULL) {
      return NULL;
    }
    text = strncpy(names[used_names++ % 64], bytes, sizeof names[0] - 1);
  }
  managed = versioned ? (void*)&exported->tensor->versioned : (void*)&exported->tensor->legacy;
  capsule = PyCapsule_New(managed, text, find_destructor(kind, versioned));
  if (capsule != NULL) {
    count_export(exported, versioned, managed);
  }
  return capsule;
}

static PyMethodDef handle_methods[] = {
    {"capsule", (PyCFunction)(void (*)(void))handle_capsule, METH_VARARGS | METH_KEYWORDS, NULL},
    {"snapshot", handle_snapshot, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef handle_attributes[] = {{"calls", handle_calls, NULL, NULL, NULL},
                                          {"handed_out", handle_exports, NULL, NULL, NULL},
                                          {"address", handle_address, NULL, NULL, NULL},
                                          {"log", handle_log, NULL, NULL, NULL},
                                          {NULL, NULL, NULL, NULL, NULL}};

static PyTypeObject handle_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "foreign.Handle",
                                   .tp_basicsize = sizeof(handle),
                                   .tp_flags = Py_TPFLAGS_DEFAULT,
                                   .tp_dealloc = handle_dealloc,
                                   .tp_methods = handle_methods,
                                   .tp_getset = handle_attributes};

/* Reads a shape or strides: a tuple into `out`, an int as a raw address, None as null. */
static int read_dims(PyObject* value, int64_t* out, int64_t** used_as, int* count) {
  Py_ssize_t i;
  if (value == Py_None) {
    *used_as = NULL;
    return 1;
  }
  if (PyLong_Check(value)) {
    *used_as = PyLong_AsVoidPtr(value);
    return !PyErr_Occurred();
  }
  if (!PyTuple_Check(value) || PyTuple_GET_SIZE(value) > FOREIGN_MAX_RANK) {
    PyErr_SetString(PyExc_TypeError, "shape and strides are tuples, addresses or None");
    return 0;
  }
  for (i = 0; i < PyTuple_GET_SIZE(value); ++i) {
    out[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(value, i));
  }
  *count = (int)PyTuple_GET_SIZE(value);
  return !PyErr_Occurred();
}

static int fill_tensor(exported_tensor* exported, PyObject* args, PyObject* keywords) {
  static char* accepted[] = {"shape",  "strides", "ndim",  "data",    "byte_offset", "dtype",
                             "device", "version", "flags", "deleter", "fill",        NULL};
  foreign_tensor* t = exported->tensor;
  DLTensor* out = &t->versioned.dl_tensor;
  PyObject* shape = NULL;
  PyObject* strides = NULL;
  PyObject* ndim = NULL;
  PyObject* data = NULL;
  unsigned long long byte_offset = 0;
  int dtype[3] = {kDLFloat, 32, 1};
  int device[2] = {kDLCPU, 0};
  unsigned version[2] = {1, 0};
  unsigned long long flags = 0;
  int deleter = 1;
  Py_buffer fill = {0};
  int rank = 2;
  int i;
  uint64_t step = 1;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$OOOOK(iii)(ii)(II)Kpy*", accepted, &shape,
                                   &strides, &ndim, &data, &byte_offset, &dtype[0], &dtype[1],
                                   &dtype[2], &device[0], &device[1], &version[0], &version[1],
                                   &flags, &deleter, &fill)) {
    return 0;
  }
  if (fill.buf != NULL) {
    memcpy(t->data, fill.buf,
           fill.len < (Py_ssize_t)(FOREIGN_FLOATS * sizeof(float))
               ? (size_t)fill.len
               : FOREIGN_FLOATS * sizeof(float));
    PyBuffer_Release(&fill);
  }
  out->shape = t->shape;
  out->strides = t->strides;
  if (shape != NULL && !read_dims(shape, t->shape, &out->shape, &rank)) {
    return 0;
  }
  for (i = rank; i-- > 0;) {
    t->strides[i] = (int64_t)step;
    step *= (uint64_t)t->shape[i];
  }
  if (strides != NULL && !read_dims(strides, t->strides, &out->strides, &i)) {
    return 0;
  }
  out->ndim = rank;
  if (ndim != NULL) {
    out->ndim = (int32_t)PyLong_AsLong(ndim);
  }
  out->data = t->data;
  if (data != NULL) {
    out->data = data == Py_None ? NULL : PyLong_AsVoidPtr(data);
  }
  out->byte_offset = byte_offset;
  out->dtype.code = (uint8_t)dtype[0];
  out->dtype.bits = (uint8_t)dtype[1];
  out->dtype.lanes = (uint16_t)dtype[2];
  out->device.device_type = (DLDeviceType)device[0];
  out->device.device_id = device[1];
  t->legacy.dl_tensor = *out;
  t->versioned.version.major = version[0];
  t->versioned.version.minor = version[1];
  t->versioned.flags = flags;
  t->legacy.manager_ctx = exported;
  t->versioned.manager_ctx = exported;
  t->legacy.deleter = deleter ? delete_legacy : NULL;
  t->versioned.deleter = deleter ? delete_versioned : NULL;
  return !PyErr_Occurred();
}

/* tensor(*, shape, strides, ndim, data, byte_offset, dtype, device, version, flags, deleter, fill):
   returns a Handle with a new tensor. */
PyObject* foreign_make_handle(PyObject* args, PyObject* keywords) {
  exported_tensor* exported = calloc(1, sizeof *exported);
  handle* self = PyObject_New(handle, &handle_type);
  if (exported == NULL || self == NULL || (exported->tensor = foreign_new()) == NULL) {
    free(exported);
    PyObject_Free(self);
    return PyErr_NoMemory();
  }
  exported->has_handle = 1;
  self->exported = exported;
  if (!fill_tensor(exported, args, keywords)) {
    Py_DECREF(self);
    return NULL;
  }
  return (PyObject*)self;
}

static PyObject* make_tensor(PyObject* module, PyObject* args, PyObject* keywords) {
  (void)module;
  return foreign_make_handle(args, keywords);
}

foreign_tensor* foreign_tensor_of(PyObject* self) {
  if (!Py_IS_TYPE(self, &handle_type)) {
    PyErr_SetString(PyExc_TypeError, "expected a Handle");
    return NULL;
  }
  return ((handle*)self)->exported->tensor;
}

struct DLManagedTensorVersioned* foreign_export(PyObject* self) {
  exported_tensor* exported = ((handle*)self)->exported;
  count_export(exported, 1, &exported->tensor->versioned);
  return &exported->tensor->versioned;
}

/* ---- Consumed: the consumer's side ---- */

typedef struct {
  PyObject_HEAD int versioned;
  void* managed; /* null once released */
} consumed;

static const DLTensor* tensor_in(PyObject* self) {
  consumed* c = (consumed*)self;
  if (c->managed == NULL) {
    PyErr_SetString(PyExc_RuntimeError, "this tensor was released");
    return NULL;
  }
  return tensor_of(c->versioned, c->managed);
}

PyObject* foreign_make_consumed(int versioned, void* managed) {
  consumed* self = PyObject_New(consumed, &consumed_type);
  if (self != NULL) {
    self->versioned = versioned;
    self->managed = managed;
  }
  return (PyObject*)self;
}

PyObject* foreign_take_over(int versioned, void* managed) {
  PyObject* self = foreign_make_consumed(versioned, managed);
  if (self == NULL) {
    call_deleter(versioned, managed);
  }
  return self;
}

struct DLManagedTensorVersioned* foreign_owned_by(PyObject* self) {
  if (!Py_IS_TYPE(self, &consumed_type) || !((consumed*)self)->versioned) {
    PyErr_SetString(PyExc_TypeError, "expected a Consumed with a versioned tensor");
    return NULL;
  }
  return tensor_in(self) != NULL ? ((consumed*)self)->managed : NULL;
}

void foreign_release_ownership(PyObject* self) { ((consumed*)self)->managed = NULL; }

/* consume(capsule): as specified, renames the capsule and takes ownership of its tensor. */
static PyObject* consume(PyObject* module, PyObject* capsule) {
  int versioned = PyCapsule_IsValid(capsule, fresh[1]);
  void* managed;
  (void)module;
  if (!versioned && !PyCapsule_IsValid(capsule, fresh[0])) {
    PyErr_SetString(PyExc_ValueError, "no fresh DLPack capsule");
    return NULL;
  }
  managed = PyCapsule_GetPointer(capsule, fresh[versioned]);
  if (managed == NULL || PyCapsule_SetName(capsule, used[versioned]) != 0) {
    return NULL;
  }
  return foreign_take_over(versioned, managed);
}

static void* call_in_thread(void* self) {
  call_deleter(((consumed*)self)->versioned, ((consumed*)self)->managed);
  return NULL;
}

static int release_in_thread(consumed* self) {
  pthread_t thread;
  int failed;
  Py_BEGIN_ALLOW_THREADS;
  failed = pthread_create(&thread, NULL, call_in_thread, self);
  if (!failed) {
    pthread_join(thread, NULL);
  }
  Py_END_ALLOW_THREADS;
  if (failed) {
    PyErr_SetString(PyExc_OSError, "cannot start a thread");
  }
  return !failed;
}

/* Sets an exception, calls act(argument), and returns whether the same exception is pending
   afterwards. */
static int survives(void (*act)(void*), void* argument) {
  PyObject* type;
  PyObject* value;
  PyObject* traceback;
  PyObject* exception = PyObject_CallFunction(PyExc_KeyError, "s", "pending");
  int same;
  if (exception == NULL) {
    return 0;
  }
  PyErr_SetObject(PyExc_KeyError, exception);
  act(argument);
  PyErr_Fetch(&type, &value, &traceback);
  same = value == exception;
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  Py_DECREF(exception);
  return same;
}

static void act_release(void* self) { call_in_thread(self); }
static void act_drop(void* object) { Py_DECREF((PyObject*)object); }

/* release(how="here"): calls the deleter with the GIL ("here"), without it ("nogil"), from a C
   thread without it ("thread"), or with an exception pending ("pending"). Returns whether that
   exception is still pending, and True otherwise. */
static PyObject* consumed_release(PyObject* self, PyObject* args) {
  consumed* c = (consumed*)self;
  const char* how = "here";
  int survived = 1;
  if (!PyArg_ParseTuple(args, "|s", &how) || tensor_in(self) == NULL) {
    return NULL;
  }
  if (strcmp(how, "thread") == 0) {
    if (!release_in_thread(c)) {
      return NULL;
    }
  } else if (strcmp(how, "nogil") == 0) {
    Py_BEGIN_ALLOW_THREADS;
    call_in_thread(c);
    Py_END_ALLOW_THREADS;
  } else if (strcmp(how, "pending") == 0) {
    survived = survives(act_release, c);
  } else {
    call_in_thread(c);
  }
  c->managed = NULL;
  return PyBool_FromLong(survived);
}

static void consumed_dealloc(PyObject* self) {
  consumed* c = (consumed*)self;
  if (c->managed != NULL) {
    call_deleter(c->versioned, c->managed);
  }
  PyObject_Free(self);
}

/* ---- tensors that outlive the interpreter ---- */

typedef struct {
  Py_ssize_t count;
  consumed tensors[];
} batch;

static void* release_batch(void* argument) {
  batch* all = argument;
  Py_ssize_t i;
  for (i = 0; i < all->count; ++i) {
    call_deleter(all->tensors[i].versioned, all->tensors[i].managed);
  }
  free(all);
  return NULL;
}

/* release_in_background(tensors): a C thread without the GIL calls the deleters of a list of
   Consumed, one after the other. Does not wait for the thread. */
static PyObject* release_in_background(PyObject* module, PyObject* list) {
  Py_ssize_t count = PyList_Size(list);
  batch* all = count >= 0 ? malloc(sizeof *all + (size_t)count * sizeof(consumed)) : NULL;
  pthread_t thread;
  Py_ssize_t i;
  (void)module;
  if (all == NULL) {
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
  }
  all->count = count;
  for (i = 0; i < count; ++i) {
    all->tensors[i] = *(consumed*)PyList_GET_ITEM(list, i);
    ((consumed*)PyList_GET_ITEM(list, i))->managed = NULL;
  }
  if (pthread_create(&thread, NULL, release_batch, all) != 0) {
    PyErr_SetString(PyExc_OSError, "cannot start a thread");
    return NULL;
  }
  pthread_detach(thread);
  Py_RETURN_NONE;
}

static consumed at_exit_list[MAX_AT_EXIT];
static int at_exit_count;

static void release_at_exit(void) {
  int i;
  for (i = 0; i < at_exit_count; ++i) {
    call_deleter(at_exit_list[i].versioned, at_exit_list[i].managed);
  }
  printf("released %d with Python %s\n", at_exit_count, Py_IsInitialized() ? "alive" : "gone");
  fflush(stdout);
}

/* keep_until_exit(): a function of atexit calls the deleter, after the interpreter has ended. */
static PyObject* consumed_keep(PyObject* self, PyObject* unused) {
  (void)unused;
  if (tensor_in(self) == NULL) {
    return NULL;
  }
  if (at_exit_count == MAX_AT_EXIT) {
    PyErr_SetString(PyExc_RuntimeError, "too many tensors");
    return NULL;
  }
  if (at_exit_count == 0) {
    atexit(release_at_exit);
  }
  at_exit_list[at_exit_count++] = *(consumed*)self;
  ((consumed*)self)->managed = NULL;
  Py_RETURN_NONE;
}

/* ---- fields and elements ---- */

static PyObject* int_tuple(int count, const int64_t* values) {
  PyObject* tuple = PyTuple_New(count);
  int i;
  for (i = 0; tuple != NULL && i < count; ++i) {
    PyTuple_SET_ITEM(tuple, i, PyLong_FromLongLong(values[i]));
  }
  return tuple;
}

static PyObject* read_field(PyObject* self, void* field) {
  const char* name = field;
  const DLTensor* t = tensor_in(self);
  consumed* c = (consumed*)self;
  struct DLManagedTensorVersioned* v = c->versioned ? c->managed : NULL;
  if (t == NULL) {
    return NULL;
  }
  if (strcmp(name, "name") == 0) {
    return PyUnicode_FromString(fresh[c->versioned]);
  }
  if (strcmp(name, "version") == 0) {
    return v == NULL ? Py_BuildValue("")
                     : Py_BuildValue("(II)", v->version.major, v->version.minor);
  }
  if (strcmp(name, "flags") == 0) {
    return v == NULL ? Py_BuildValue("") : PyLong_FromUnsignedLongLong(v->flags);
  }
  if (strcmp(name, "ndim") == 0) {
    return PyLong_FromLong(t->ndim);
  }
  if (strcmp(name, "shape") == 0) {
    return t->shape == NULL ? Py_BuildValue("") : int_tuple(t->ndim, t->shape);
  }
  if (strcmp(name, "strides") == 0) {
    return t->strides == NULL ? Py_BuildValue("") : int_tuple(t->ndim, t->strides);
  }
  if (strcmp(name, "data") == 0) {
    return PyLong_FromVoidPtr(t->data);
  }
  if (strcmp(name, "byte_offset") == 0) {
    return PyLong_FromUnsignedLongLong(t->byte_offset);
  }
  if (strcmp(name, "dtype") == 0) {
    return Py_BuildValue("(iii)", t->dtype.code, t->dtype.bits, t->dtype.lanes);
  }
  if (strcmp(name, "device") == 0) {
    return Py_BuildValue("(ii)", (int)t->device.device_type, (int)t->device.device_id);
  }
  return PyBool_FromLong(has_deleter(c->versioned, c->managed));
}

/* Copies the elements to `to`, in row-major order, and returns the end of the copy. */
static char* gather(const DLTensor* t, int axis, const char* from, size_t bytes, char* to) {
  int64_t i;
  if (axis == t->ndim) {
    memcpy(to, from, bytes);
    return to + bytes;
  }
  for (i = 0; i < t->shape[axis]; ++i) {
    to = gather(t, axis + 1, from + i * t->strides[axis] * (int64_t)bytes, bytes, to);
  }
  return to;
}

/* tobytes(): the elements in row-major order, read through strides and byte offset. */
static PyObject* consumed_tobytes(PyObject* self, PyObject* unused) {
  const DLTensor* t = tensor_in(self);
  size_t bytes;
  Py_ssize_t count = 1;
  PyObject* out;
  int i;
  (void)unused;
  if (t == NULL) {
    return NULL;
  }
  if (t->ndim > 0 && t->strides == NULL) {
    PyErr_SetString(PyExc_ValueError, "the strides are null");
    return NULL;
  }
  bytes = ((size_t)t->dtype.bits * t->dtype.lanes + 7) / 8;
  for (i = 0; i < t->ndim; ++i) {
    count *= (Py_ssize_t)t->shape[i];
  }
  out = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)bytes);
  if (out != NULL && count != 0) {
    gather(t, 0, (const char*)t->data + t->byte_offset, bytes, PyBytes_AS_STRING(out));
  }
  return out;
}

/* write(bytes): overwrites the first bytes of the memory. */
static PyObject* consumed_write(PyObject* self, PyObject* bytes) {
  const DLTensor* t = tensor_in(self);
  if (t == NULL || !PyBytes_Check(bytes)) {
    return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "expected bytes");
  }
  if (PyBytes_GET_SIZE(bytes) != 0) {
    memcpy((char*)t->data + t->byte_offset, PyBytes_AS_STRING(bytes),
           (size_t)PyBytes_GET_SIZE(bytes));
  }
  Py_RETURN_NONE;
}

static PyMethodDef consumed_methods[] = {{"release", consumed_release, METH_VARARGS, NULL},
                                         {"keep_until_exit", consumed_keep, METH_NOARGS, NULL},
                                         {"tobytes", consumed_tobytes, METH_NOARGS, NULL},
                                         {"write", consumed_write, METH_O, NULL},
                                         {NULL, NULL, 0, NULL}};
static PyGetSetDef consumed_attributes[] = {{"name", read_field, NULL, NULL, "name"},
                                            {"version", read_field, NULL, NULL, "version"},
                                            {"flags", read_field, NULL, NULL, "flags"},
                                            {"ndim", read_field, NULL, NULL, "ndim"},
                                            {"shape", read_field, NULL, NULL, "shape"},
                                            {"strides", read_field, NULL, NULL, "strides"},
                                            {"data", read_field, NULL, NULL, "data"},
                                            {"byte_offset", read_field, NULL, NULL, "byte_offset"},
                                            {"dtype", read_field, NULL, NULL, "dtype"},
                                            {"device", read_field, NULL, NULL, "device"},
                                            {"has_deleter", read_field, NULL, NULL, "deleter"},
                                            {NULL, NULL, NULL, NULL, NULL}};

static PyTypeObject consumed_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "foreign.Consumed",
                                     .tp_basicsize = sizeof(consumed),
                                     .tp_flags = Py_TPFLAGS_DEFAULT,
                                     .tp_dealloc = consumed_dealloc,
                                     .tp_methods = consumed_methods,
                                     .tp_getset = consumed_attributes};

/* ---- module functions ---- */

/* survives_drop(make): calls make(), sets an exception, and releases the result, which must be the
   only reference to its object. Returns whether the exception is still pending. */
static PyObject* survives_drop(PyObject* module, PyObject* make) {
  PyObject* object = PyObject_CallObject(make, NULL);
  (void)module;
  if (object == NULL) {
    return NULL;
  }
  if (Py_REFCNT(object) != 1) {
    Py_DECREF(object);
    PyErr_SetString(PyExc_ValueError, "the object has other references");
    return NULL;
  }
  return PyBool_FromLong(survives(act_drop, object));
}

/* buffer(object, flags): the fields of the Py_buffer that `object` fills, as a dict. */
static PyObject* get_buffer(PyObject* module, PyObject* args) {
  PyObject* object;
  int flags;
  Py_buffer b;
  PyObject* shape;
  PyObject* strides;
  PyObject* out;
  int dims;
  (void)module;
  if (!PyArg_ParseTuple(args, "Oi", &object, &flags)) {
    return NULL;
  }
  memset(&b, 0xAB, sizeof b);
  if (PyObject_GetBuffer(object, &b, flags) != 0) {
    if (b.obj != NULL) {
      PyErr_SetString(PyExc_SystemError, "the object refused the request and set Py_buffer.obj");
    }
    return NULL;
  }
  dims = b.ndim;
  shape = b.shape == NULL ? Py_BuildValue("") : PyTuple_New(dims);
  strides = b.strides == NULL ? Py_BuildValue("") : PyTuple_New(dims);
  while (dims-- > 0) {
    if (b.shape != NULL) {
      PyTuple_SET_ITEM(shape, dims, PyLong_FromSsize_t(b.shape[dims]));
    }
    if (b.strides != NULL) {
      PyTuple_SET_ITEM(strides, dims, PyLong_FromSsize_t(b.strides[dims]));
    }
  }
  out = Py_BuildValue(
      "{s:N,s:n,s:n,s:O,s:i,s:z,s:N,s:N,s:O,s:O,s:(iii)}", "data", PyLong_FromVoidPtr(b.buf), "len",
      b.len, "itemsize", b.itemsize, "readonly", b.readonly ? Py_True : Py_False, "ndim", b.ndim,
      "format", b.format, "shape", shape, "strides", strides, "suboffsets",
      b.suboffsets == NULL ? Py_None : Py_True, "owned", b.obj == object ? Py_True : Py_False,
      "contiguous", PyBuffer_IsContiguous(&b, 'C'), PyBuffer_IsContiguous(&b, 'F'),
      PyBuffer_IsContiguous(&b, 'A'));
  PyBuffer_Release(&b);
  return out;
}

/* accounts(): (exported managed tensors, deleter calls) since the module was imported. */
static PyObject* accounts(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  return Py_BuildValue("(ll)", total_exports, total_calls);
}

/* trap(): the address of a page that cannot be read. */
static PyObject* trap(PyObject* module, PyObject* unused) {
  static void* page;
  (void)module;
  (void)unused;
  if (page == NULL) {
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  if (page == MAP_FAILED) {
    return PyErr_NoMemory();
  }
  return PyLong_FromVoidPtr(page);
}

static PyMethodDef functions[] = {
    {"tensor", (PyCFunction)(void (*)(void))make_tensor, METH_VARARGS | METH_KEYWORDS, NULL},
    {"consume", consume, METH_O, NULL},
    {"release_in_background", release_in_background, METH_O, NULL},
    {"survives_drop", survives_drop, METH_O, NULL},
    {"buffer", get_buffer, METH_VARARGS, NULL},
    {"accounts", accounts, METH_NOARGS, NULL},
    {"trap", trap, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "foreign",
                                        .m_doc = "A DLPack producer and consumer in plain C.",
                                        .m_size = -1, .m_methods = functions};

static PyStructSequence_Field call_fields[] = {
    {"gil", NULL}, {"pending", NULL}, {"thread", NULL}, {NULL, NULL}};
static PyStructSequence_Desc call_description = {"foreign.Call", NULL, call_fields, 3};

PyMODINIT_FUNC PyInit_foreign(void) {
  PyObject* module = PyModule_Create(&definition);
  if (module == NULL || PyType_Ready(&handle_type) != 0 || PyType_Ready(&consumed_type) != 0 ||
      PyStructSequence_InitType2(&call_type, &call_description) != 0 ||
      foreign_add_exchange(module) != 0) {
    Py_XDECREF(module);
    return NULL;
  }
#if defined(Py_GIL_DISABLED)
  PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED); /* the accounts have a lock */
#endif
  Py_INCREF(&handle_type);
  Py_INCREF(&consumed_type);
  PyModule_AddObject(module, "Handle", (PyObject*)&handle_type);
  PyModule_AddObject(module, "Consumed", (PyObject*)&consumed_type);
  return module;
}
