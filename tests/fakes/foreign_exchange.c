// SPDX-License-Identifier: BSD-3-Clause
/* Exchange tables in plain C: the class Exported, whose tables can have missing or failing
   functions, and slot(), which calls one function of the table of any type. foreign.pyi describes
   them. */
#include <stdlib.h>
#include <string.h>

#include "foreign_module.h"

#define FOREIGN_MOST_LENT 256

#if DLPACK_MAJOR_VERSION > 1 || DLPACK_MINOR_VERSION >= 2

static const char* const capsule_name = "dlpack_exchange_api";
enum { ALLOCATE, GIVE, TAKE, LEND, STREAM, SLOTS };
static const char* const slot_names[] = {"allocate", "give", "take", "lend", "stream"};
static long slot_calls[SLOTS];
static void* work_stream = NULL; /* of set_work_stream(), or NULL */

/* ---- Exported: the base of classes with an exchange table ---- */

typedef struct {
  PyObject_HEAD PyObject* handle;
} exported;

static PyObject* exported_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  PyObject* handle;
  exported* self;
  if (keywords != NULL && PyDict_GET_SIZE(keywords) != 0) {
    return PyErr_Format(PyExc_TypeError, "Exported takes no keyword arguments");
  }
  if (!PyArg_ParseTuple(args, "O", &handle) || foreign_tensor_of(handle) == NULL) {
    return NULL;
  }
  self = (exported*)type->tp_alloc(type, 0);
  if (self != NULL) {
    Py_INCREF(handle);
    self->handle = handle;
  }
  return (PyObject*)self;
}

static void exported_dealloc(PyObject* self) {
  Py_XDECREF(((exported*)self)->handle);
  Py_TYPE(self)->tp_free(self);
}

static PyTypeObject exported_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "foreign.Exported",
                                     .tp_basicsize = sizeof(exported),
                                     .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                     .tp_new = exported_new, .tp_dealloc = exported_dealloc};

/* ---- the functions of the tables ---- */

static int give(void* object, struct DLManagedTensorVersioned** out) {
  ++slot_calls[GIVE];
  *out = foreign_export(((exported*)object)->handle);
  return 0;
}

static int take(struct DLManagedTensorVersioned* tensor, void** out) {
  ++slot_calls[TAKE];
  *out = foreign_make_consumed(1, tensor);
  return *out != NULL ? 0 : -1;
}

static int lend(void* object, DLTensor* out) {
  ++slot_calls[LEND];
  *out = foreign_tensor_of(((exported*)object)->handle)->versioned.dl_tensor;
  return 0;
}

static int allocate(DLTensor* prototype, struct DLManagedTensorVersioned** out, void* context,
                    void (*set_error)(void*, const char*, const char*)) {
  PyObject* shape = PyTuple_New(prototype->ndim);
  PyObject* keywords;
  PyObject* none = PyTuple_New(0);
  PyObject* handle;
  int i;
  ++slot_calls[ALLOCATE];
  for (i = 0; i < prototype->ndim; ++i) {
    PyTuple_SET_ITEM(shape, i, PyLong_FromLongLong(prototype->shape[i]));
  }
  keywords = Py_BuildValue("{s:N,s:(iii)}", "shape", shape, "dtype", prototype->dtype.code,
                           prototype->dtype.bits, prototype->dtype.lanes);
  handle = foreign_make_handle(none, keywords);
  Py_DECREF(none);
  Py_DECREF(keywords);
  if (handle == NULL) {
    PyErr_Clear();
    set_error(context, "ValueError", "the foreign heap has no such tensors");
    return -1;
  }
  *out = foreign_export(handle);
  Py_DECREF(handle);
  return 0;
}

static int stream(DLDeviceType type, int32_t id, void** out) {
  ++slot_calls[STREAM];
  *out = work_stream != NULL ? work_stream : (void*)(uintptr_t)(0x1000 * (int)type + id);
  return 0;
}

/* set_work_stream(handle): sets the stream of all tables; 0 restores the default. */
static PyObject* set_work_stream(PyObject* module, PyObject* handle) {
  void* stream = PyLong_AsVoidPtr(handle);
  (void)module;
  if (stream == NULL && PyErr_Occurred()) {
    return NULL;
  }
  work_stream = stream;
  Py_RETURN_NONE;
}

/* ---- functions that fail ---- */

static int fail(int slot) {
  ++slot_calls[slot];
  PyErr_SetString(PyExc_RuntimeError, "the foreign slot fails");
  return -1;
}
static int fail_to_give(void* object, struct DLManagedTensorVersioned** out) {
  (void)object;
  (void)out;
  return fail(GIVE);
}
static int fail_to_take(struct DLManagedTensorVersioned* tensor, void** out) {
  (void)tensor;
  (void)out;
  return fail(TAKE);
}
static int fail_to_lend(void* object, DLTensor* out) {
  (void)object;
  (void)out;
  return fail(LEND);
}
static int fail_to_allocate(DLTensor* prototype, struct DLManagedTensorVersioned** out,
                            void* context, void (*set_error)(void*, const char*, const char*)) {
  (void)prototype;
  (void)out;
  ++slot_calls[ALLOCATE];
  set_error(context, "MemoryError", "the foreign heap is full");
  return -1;
}
static int fail_to_stream(DLDeviceType type, int32_t id, void** out) {
  (void)type;
  (void)id;
  (void)out;
  return fail(STREAM);
}

static int contains(PyObject* names, int slot) {
  PyObject* name = PyUnicode_FromString(slot_names[slot]);
  int result = names != NULL && name != NULL && PySequence_Contains(names, name) == 1;
  Py_XDECREF(name);
  return result;
}

/* exchange_table(*, version=(1, 3), prev=0, missing=(), failing=()): returns the address of a
   new table, which is never freed. */
static PyObject* exchange_table(PyObject* module, PyObject* args, PyObject* keywords) {
  static char* accepted[] = {"version", "prev", "missing", "failing", NULL};
  DLPackExchangeAPI* table = calloc(1, sizeof *table);
  unsigned major = 1;
  unsigned minor = 3;
  PyObject* prev = NULL;
  PyObject* missing = NULL;
  PyObject* failing = NULL;
  (void)module;
  if (table == NULL || !PyArg_ParseTupleAndKeywords(args, keywords, "|$(II)OOO", accepted, &major,
                                                    &minor, &prev, &missing, &failing)) {
    free(table);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
  }
  table->header.version.major = major;
  table->header.version.minor = minor;
  table->header.prev_api = prev != NULL ? PyLong_AsVoidPtr(prev) : NULL;
  table->managed_tensor_allocator = contains(missing, ALLOCATE)   ? NULL
                                    : contains(failing, ALLOCATE) ? fail_to_allocate
                                                                  : allocate;
  table->managed_tensor_from_py_object_no_sync = contains(missing, GIVE)   ? NULL
                                                 : contains(failing, GIVE) ? fail_to_give
                                                                           : give;
  table->managed_tensor_to_py_object_no_sync = contains(missing, TAKE)   ? NULL
                                               : contains(failing, TAKE) ? fail_to_take
                                                                         : take;
  table->dltensor_from_py_object_no_sync = contains(missing, LEND)   ? NULL
                                           : contains(failing, LEND) ? fail_to_lend
                                                                     : lend;
  table->current_work_stream = contains(missing, STREAM)   ? NULL
                               : contains(failing, STREAM) ? fail_to_stream
                                                           : stream;
  return PyLong_FromVoidPtr(table);
}

/* exchange_capsule(address): returns the capsule of a table, as dlpack.h 1.3 specifies it. */
static PyObject* exchange_capsule(PyObject* module, PyObject* address) {
  void* table = PyLong_AsVoidPtr(address);
  (void)module;
  return table != NULL ? PyCapsule_New(table, capsule_name, NULL) : NULL;
}

/* slot_calls(): returns the number of calls of each function of the tables. */
static PyObject* count_calls(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  return Py_BuildValue("{s:l,s:l,s:l,s:l,s:l}", slot_names[0], slot_calls[0], slot_names[1],
                       slot_calls[1], slot_names[2], slot_calls[2], slot_names[3], slot_calls[3],
                       slot_names[4], slot_calls[4]);
}

/* ---- slot(): the consumer's side ---- */

static const DLPackExchangeAPI* table_of(PyObject* type) {
  PyObject* capsule = PyObject_GetAttrString(type, "__dlpack_c_exchange_api__");
  const DLPackExchangeAPI* table = NULL;
  if (capsule != NULL) {
    table = PyCapsule_GetPointer(capsule, capsule_name);
    Py_DECREF(capsule);
  }
  return table;
}

static void record_error(void* context, const char* kind, const char* text) {
  *(PyObject**)context = PyUnicode_FromFormat("%s: %s", kind, text);
}

/* Returns 1 when a function succeeded. Otherwise returns 0 with the exception of the function set,
   or with SystemError when its code, its result and the pending exception contradict one another.
 */
static int succeeded(int code, const void* out) {
  if (code == 0 && out != NULL && !PyErr_Occurred()) {
    return 1;
  }
  if (code == 0 || out != NULL || !PyErr_Occurred()) {
    PyErr_Format(PyExc_SystemError, "slot returned %d, %s, %s", code,
                 out ? "a result" : "no result",
                 PyErr_Occurred() ? "an exception" : "no exception");
  }
  return 0;
}

static PyObject* call_allocate(const DLPackExchangeAPI* api, PyObject* args) {
  struct DLManagedTensorVersioned* tensor = NULL;
  PyObject* error = NULL;
  PyObject* shape;
  DLTensor prototype;
  int64_t extents[FOREIGN_MAX_RANK];
  int code, bits, lanes, device, id;
  int i;
  memset(&prototype, 0, sizeof prototype);
  if (!PyArg_ParseTuple(args, "O!(iii)(ii)", &PyTuple_Type, &shape, &code, &bits, &lanes, &device,
                        &id)) {
    return NULL;
  }
  for (i = 0; i < (int)PyTuple_GET_SIZE(shape); ++i) {
    extents[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
  }
  prototype.ndim = i;
  prototype.shape = extents;
  prototype.dtype.code = (uint8_t)code;
  prototype.dtype.bits = (uint8_t)bits;
  prototype.dtype.lanes = (uint16_t)lanes;
  prototype.device.device_type = (DLDeviceType)device;
  prototype.device.device_id = id;
  code = api->managed_tensor_allocator(&prototype, &tensor, &error, record_error);
  if (error != NULL && !PyErr_Occurred()) {
    PyErr_SetObject(PyExc_RuntimeError, error);
  }
  Py_XDECREF(error);
  return succeeded(code, tensor) ? foreign_take_over(1, tensor) : NULL;
}

static PyObject* call_give(const DLPackExchangeAPI* api, PyObject* object) {
  struct DLManagedTensorVersioned* tensor = NULL;
  int code = api->managed_tensor_from_py_object_no_sync(object, &tensor);
  return succeeded(code, tensor) ? foreign_take_over(1, tensor) : NULL;
}

/* On failure the Consumed still owns the tensor. */
static PyObject* call_take(const DLPackExchangeAPI* api, PyObject* consumed) {
  struct DLManagedTensorVersioned* tensor = foreign_owned_by(consumed);
  void* object = NULL;
  int code;
  if (tensor == NULL) {
    return NULL;
  }
  code = api->managed_tensor_to_py_object_no_sync(tensor, &object);
  if (!succeeded(code, object)) {
    return NULL;
  }
  foreign_release_ownership(consumed);
  return object;
}

static PyObject* dims_of(int32_t count, const int64_t* values) {
  PyObject* tuple = values != NULL ? PyTuple_New(count) : Py_BuildValue("");
  int i;
  for (i = 0; values != NULL && i < count; ++i) {
    PyTuple_SET_ITEM(tuple, i, PyLong_FromLongLong(values[i]));
  }
  return tuple;
}

static int lend_one(const DLPackExchangeAPI* api, PyObject* object, DLTensor* out) {
  int code;
  memset(out, 0, sizeof *out);
  code = api->dltensor_from_py_object_no_sync(object, out);
  return succeeded(code, code == 0 ? out : NULL);
}

static PyObject* described(const DLTensor* t) {
  return Py_BuildValue("{s:N,s:N,s:N,s:(iii),s:(ii),s:K}", "data", PyLong_FromVoidPtr(t->data),
                       "shape", dims_of(t->ndim, t->shape), "strides", dims_of(t->ndim, t->strides),
                       "dtype", t->dtype.code, t->dtype.bits, t->dtype.lanes, "device",
                       (int)t->device.device_type, t->device.device_id, "byte_offset",
                       (unsigned long long)t->byte_offset);
}

/* object: one, or a list of at most FOREIGN_MOST_LENT, all of which are lent before the first one
   is described: a call with as many arguments borrows them so. */
static PyObject* call_lend(const DLPackExchangeAPI* api, PyObject* object) {
  static DLTensor lent[FOREIGN_MOST_LENT];
  PyObject* result = NULL;
  Py_ssize_t i, count = PyList_Check(object) ? PyList_GET_SIZE(object) : 1;
  if (api->dltensor_from_py_object_no_sync == NULL || count > FOREIGN_MOST_LENT) {
    PyErr_SetString(PyExc_LookupError, "the table does not lend that many");
    return NULL;
  }
  for (i = 0; i < count; ++i) {
    if (!lend_one(api, PyList_Check(object) ? PyList_GET_ITEM(object, i) : object, &lent[i])) {
      return NULL;
    }
  }
  if (!PyList_Check(object)) {
    return described(&lent[0]);
  }
  result = PyList_New(count);
  for (i = 0; result != NULL && i < count; ++i) {
    PyList_SET_ITEM(result, i, described(&lent[i]));
  }
  return result;
}

static PyObject* call_stream(const DLPackExchangeAPI* api, PyObject* args) {
  int type, id;
  void* handle = &type;
  if (!PyArg_ParseTuple(args, "ii", &type, &id) ||
      api->current_work_stream((DLDeviceType)type, id, &handle) != 0) {
    return NULL;
  }
  return PyLong_FromVoidPtr(handle);
}

/* slot(type, name, *args): calls one function of the table of a type. */
static PyObject* call_slot(PyObject* module, PyObject* args) {
  PyObject* rest = PyTuple_GetSlice(args, 2, PyTuple_GET_SIZE(args));
  PyObject* only = rest != NULL && PyTuple_GET_SIZE(rest) == 1 ? PyTuple_GET_ITEM(rest, 0) : NULL;
  PyObject* type;
  PyObject* result = NULL;
  PyObject* head = PyTuple_GetSlice(args, 0, 2);
  const char* name;
  const DLPackExchangeAPI* api;
  (void)module;
  if (rest != NULL && head != NULL && PyArg_ParseTuple(head, "Os", &type, &name) &&
      (api = table_of(type)) != NULL) {
    if (strcmp(name, "version") == 0) {
      result = Py_BuildValue("(IIO)", api->header.version.major, api->header.version.minor,
                             api->header.prev_api == NULL ? Py_None : Py_True);
    } else if (strcmp(name, "allocate") == 0) {
      result = call_allocate(api, rest);
    } else if (strcmp(name, "stream") == 0) {
      result = call_stream(api, rest);
    } else if (only == NULL) {
      PyErr_SetString(PyExc_TypeError, "expected one object");
    } else if (strcmp(name, "give") == 0) {
      result = call_give(api, only);
    } else if (strcmp(name, "take") == 0) {
      result = call_take(api, only);
    } else {
      result = call_lend(api, only);
    }
  }
  Py_XDECREF(head);
  Py_XDECREF(rest);
  return result;
}

static PyMethodDef functions[] = {{"exchange_table", (PyCFunction)(void (*)(void))exchange_table,
                                   METH_VARARGS | METH_KEYWORDS, NULL},
                                  {"exchange_capsule", exchange_capsule, METH_O, NULL},
                                  {"set_work_stream", set_work_stream, METH_O, NULL},
                                  {"slot_calls", count_calls, METH_NOARGS, NULL},
                                  {"slot", call_slot, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};

int foreign_add_exchange(PyObject* module) {
  if (PyType_Ready(&exported_type) != 0 || PyModule_AddFunctions(module, functions) != 0) {
    return -1;
  }
  Py_INCREF(&exported_type);
  return PyModule_AddObject(module, "Exported", (PyObject*)&exported_type);
}

#else

/* dlpack.h before 1.2 declares no exchange table. */
int foreign_add_exchange(PyObject* module) {
  (void)module;
  return 0;
}

#endif
