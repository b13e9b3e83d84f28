// SPDX-License-Identifier: BSD-3-Clause
/* A producer in plain C with an exchange table: the least that a consumer can be given. It checks
   nothing, allocates one record for each export, and does not include dlbridge. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlpack/dlpack.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANK = 8 };

typedef struct {
  PyObject_HEAD DLTensor tensor;
  int64_t shape[MAX_RANK];
  int64_t strides[MAX_RANK];
  DLManagedTensorVersioned* source; /* the imported tensor, or NULL if the memory is its own */
} bare;

typedef struct {
  union {
    DLManagedTensor legacy;
    DLManagedTensorVersioned versioned;
  } managed;
  PyObject* owner;
} export_record;

static PyTypeObject bare_type;

/* ---- export ---- */

static void drop(export_record* record) {
  PyGILState_STATE const state = PyGILState_Ensure();
  Py_DECREF(record->owner);
  PyGILState_Release(state);
  free(record);
}

static void drop_versioned(DLManagedTensorVersioned* tensor) { drop(tensor->manager_ctx); }
static void drop_legacy(DLManagedTensor* tensor) { drop(tensor->manager_ctx); }

static export_record* make_record(PyObject* self) {
  export_record* record = malloc(sizeof *record);
  if (record == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  Py_INCREF(self);
  record->owner = self;
  return record;
}

static DLManagedTensorVersioned* export_versioned(PyObject* self) {
  export_record* record = make_record(self);
  DLManagedTensorVersioned* out;
  if (record == NULL) {
    return NULL;
  }
  out = &record->managed.versioned;
  out->version.major = DLPACK_MAJOR_VERSION;
  out->version.minor = DLPACK_MINOR_VERSION;
  out->manager_ctx = record;
  out->deleter = drop_versioned;
  out->flags = 0;
  out->dl_tensor = ((bare*)self)->tensor;
  return out;
}

static DLManagedTensor* export_legacy(PyObject* self) {
  export_record* record = make_record(self);
  DLManagedTensor* out;
  if (record == NULL) {
    return NULL;
  }
  out = &record->managed.legacy;
  out->manager_ctx = record;
  out->deleter = drop_legacy;
  out->dl_tensor = ((bare*)self)->tensor;
  return out;
}

static void drop_unused(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    drop_versioned(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
  } else if (PyCapsule_IsValid(capsule, "dltensor")) {
    drop_legacy(PyCapsule_GetPointer(capsule, "dltensor"));
  }
}

/* Any max_version yields a versioned capsule; the other keywords are ignored, as consumers in the
   benchmarks pass their defaults. */
static PyObject* dlpack(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* names) {
  Py_ssize_t i;
  for (i = 0; names != NULL && i < PyTuple_GET_SIZE(names); ++i) {
    if (args[nargs + i] != Py_None &&
        PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "max_version") == 0) {
      DLManagedTensorVersioned* tensor = export_versioned(self);
      return tensor == NULL ? NULL : PyCapsule_New(tensor, "dltensor_versioned", drop_unused);
    }
  }
  {
    DLManagedTensor* tensor = export_legacy(self);
    return tensor == NULL ? NULL : PyCapsule_New(tensor, "dltensor", drop_unused);
  }
}

static PyObject* dlpack_device(PyObject* self, PyObject* ignored) {
  (void)self;
  (void)ignored;
  return Py_BuildValue("(ii)", (int)kDLCPU, 0);
}

/* ---- the exchange table ---- */

static int allocate(DLTensor* prototype, DLManagedTensorVersioned** out, void* context,
                    void (*set_error)(void*, const char*, const char*)) {
  (void)prototype;
  (void)out;
  set_error(context, "NotImplementedError", "the bare producer allocates nothing");
  return -1;
}

static int give(void* object, DLManagedTensorVersioned** out) {
  *out = export_versioned(object);
  return *out == NULL ? -1 : 0;
}

static int take(DLManagedTensorVersioned* tensor, void** out) {
  bare* self = (bare*)bare_type.tp_alloc(&bare_type, 0);
  *out = self;
  if (self == NULL) {
    return -1;
  }
  self->tensor = tensor->dl_tensor;
  self->source = tensor;
  return 0;
}

static int lend(void* object, DLTensor* out) {
  *out = ((bare*)object)->tensor;
  return 0;
}

static int current_stream(DLDeviceType type, int32_t id, void** out) {
  (void)type;
  (void)id;
  *out = NULL;
  return 0;
}

static DLPackExchangeAPI table = {.header = {{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}, NULL},
                                  .managed_tensor_allocator = allocate,
                                  .managed_tensor_from_py_object_no_sync = give,
                                  .managed_tensor_to_py_object_no_sync = take,
                                  .dltensor_from_py_object_no_sync = lend,
                                  .current_work_stream = current_stream};

/* ---- the type ---- */

/* Bare(shape): zeros of dtype float32, whose pages are not touched. */
static PyObject* bare_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  PyObject* shape;
  size_t bytes = sizeof(float);
  bare* self;
  Py_ssize_t i;
  (void)keywords;
  if (!PyArg_ParseTuple(args, "O!", &PyTuple_Type, &shape)) {
    return NULL;
  }
  if (PyTuple_GET_SIZE(shape) > MAX_RANK) {
    return PyErr_Format(PyExc_ValueError, "at most %d dimensions", (int)MAX_RANK);
  }
  self = (bare*)type->tp_alloc(type, 0);
  if (self == NULL) {
    return NULL;
  }
  self->tensor.ndim = (int)PyTuple_GET_SIZE(shape);
  self->tensor.device.device_type = kDLCPU;
  self->tensor.dtype.code = kDLFloat;
  self->tensor.dtype.bits = 32;
  self->tensor.dtype.lanes = 1;
  self->tensor.shape = self->shape;
  self->tensor.strides = self->strides;
  for (i = self->tensor.ndim - 1; i >= 0; --i) {
    self->strides[i] = (int64_t)(bytes / sizeof(float));
    self->shape[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
    bytes *= (size_t)self->shape[i];
  }
  self->tensor.data = PyErr_Occurred() ? NULL : calloc(1, bytes);
  if (self->tensor.data == NULL) {
    Py_DECREF(self);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
  }
  return (PyObject*)self;
}

static void bare_dealloc(PyObject* object) {
  bare* self = (bare*)object;
  PyTypeObject* type = Py_TYPE(object);
  if (self->source != NULL) {
    self->source->deleter(self->source);
  } else {
    free(self->tensor.data);
  }
  type->tp_free(object);
  if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) { /* a subclass that Python code defines */
    Py_DECREF(type);
  }
}

static PyMethodDef methods[] = {{"__dlpack__", (PyCFunction)(void (*)(void))dlpack,
                                 METH_FASTCALL | METH_KEYWORDS, "exports the tensor as a capsule"},
                                {"__dlpack_device__", dlpack_device, METH_NOARGS, "the CPU"},
                                {NULL, NULL, 0, NULL}};

static PyTypeObject bare_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "bare_producer.Bare",
                                 .tp_basicsize = sizeof(bare),
                                 .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                 .tp_new = bare_new,
                                 .tp_dealloc = bare_dealloc,
                                 .tp_methods = methods};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "bare_producer", NULL, 0, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_bare_producer(void) {
  PyObject* module = PyModule_Create(&definition);
  PyObject* capsule = PyCapsule_New(&table, "dlpack_exchange_api", NULL);
  if (module == NULL || capsule == NULL || PyType_Ready(&bare_type) != 0 ||
      PyDict_SetItemString(bare_type.tp_dict, "__dlpack_c_exchange_api__", capsule) != 0) {
    return NULL;
  }
  Py_DECREF(capsule);
  PyType_Modified(&bare_type);
  Py_INCREF(&bare_type);
  return PyModule_AddObject(module, "Bare", (PyObject*)&bare_type) == 0 ? module : NULL;
}
