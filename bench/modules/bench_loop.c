// SPDX-License-Identifier: BSD-3-Clause
/* Times and counts calls from C by vectorcall, without the cost of a loop in Python. Also has the
   anchors: the smallest calls that the benchmarks compare with. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlpack/dlpack.h>
#include <time.h>

#if defined(__has_include)
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#define HAS_CALLGRIND 1
#endif
#endif

enum { MAX_ARGUMENTS = 64, WARM_CALLS = 100 };

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- loops ---- */

typedef struct {
  PyObject* function;
  PyObject* values[1 + MAX_ARGUMENTS]; /* borrowed; the first is for the callee */
  PyObject* names;                     /* owned, or NULL */
  size_t positional;
  Py_ssize_t count;
  int fails; /* whether every call must raise an exception */
} calls;

/* Returns a tuple of the dict's keys, interned like the keywords in a caller's source, and stores
   the values in out. */
static PyObject* intern_names(PyObject* keywords, PyObject** out) {
  PyObject *key, *value;
  Py_ssize_t position = 0, i;
  PyObject* names = PyTuple_New(PyDict_Size(keywords));
  for (i = 0; names != NULL && PyDict_Next(keywords, &position, &key, &value); ++i) {
    Py_INCREF(key);
    PyUnicode_InternInPlace(&key);
    PyTuple_SET_ITEM(names, i, key);
    out[i] = value;
  }
  return names;
}

/* Reads (function, arguments: tuple, keywords: dict or None, count, fails). */
static int read_calls(calls* out, PyObject* const* args, Py_ssize_t nargs) {
  Py_ssize_t positional, named, i;
  if (nargs != 5 || !PyTuple_Check(args[1]) || !(args[2] == Py_None || PyDict_Check(args[2]))) {
    PyErr_SetString(PyExc_TypeError, "expected function, arguments, keywords, count, fails");
    return -1;
  }
  positional = PyTuple_GET_SIZE(args[1]);
  named = args[2] == Py_None ? 0 : PyDict_Size(args[2]);
  out->function = args[0];
  out->positional = (size_t)positional;
  out->names = NULL;
  out->count = PyLong_AsSsize_t(args[3]);
  out->fails = PyObject_IsTrue(args[4]);
  if (PyErr_Occurred()) {
    return -1;
  }
  if (positional + named > MAX_ARGUMENTS) {
    PyErr_SetString(PyExc_ValueError, "too many arguments");
    return -1;
  }
  for (i = 0; i < positional; ++i) {
    out->values[1 + i] = PyTuple_GET_ITEM(args[1], i);
  }
  if (named > 0 && (out->names = intern_names(args[2], out->values + 1 + positional)) == NULL) {
    return -1;
  }
  return 0;
}

static int loop(calls const* what, Py_ssize_t count) {
  Py_ssize_t i;
  for (i = 0; i < count; ++i) {
    PyObject* result =
        PyObject_Vectorcall(what->function, what->values + 1,
                            what->positional | PY_VECTORCALL_ARGUMENTS_OFFSET, what->names);
    if (what->fails) {
      if (result != NULL) {
        Py_DECREF(result);
        PyErr_SetString(PyExc_AssertionError, "the call did not fail");
        return -1;
      }
      PyErr_Clear();
    } else if (result == NULL) {
      return -1;
    } else {
      Py_DECREF(result);
    }
  }
  return 0;
}

static PyObject* run(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  calls what;
  double start, end;
  int status;
  (void)module;
  if (read_calls(&what, args, nargs) != 0) {
    return NULL;
  }
  start = now_ns();
  status = loop(&what, what.count);
  end = now_ns();
  Py_XDECREF(what.names);
  return status == 0 ? PyFloat_FromDouble(end - start) : NULL;
}

static PyObject* run_over(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  Py_ssize_t rounds, round, i;
  double start;
  (void)module;
  if (nargs != 3 || !PyTuple_Check(args[1])) {
    PyErr_SetString(PyExc_TypeError, "run_over(function, objects, rounds)");
    return NULL;
  }
  rounds = PyLong_AsSsize_t(args[2]);
  start = now_ns();
  for (round = 0; round < rounds; ++round) {
    for (i = 0; i < PyTuple_GET_SIZE(args[1]); ++i) {
      PyObject* values[2] = {NULL, PyTuple_GET_ITEM(args[1], i)};
      PyObject* result =
          PyObject_Vectorcall(args[0], values + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
      if (result == NULL) {
        return NULL;
      }
      Py_DECREF(result);
    }
  }
  return PyErr_Occurred() ? NULL : PyFloat_FromDouble(now_ns() - start);
}

/* Callgrind writes one profile for each call of this function, with the instructions of the loop
   only. Without callgrind it returns False. */
static PyObject* profile(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
#ifdef HAS_CALLGRIND
  calls what;
  int status;
  (void)module;
  if (!RUNNING_ON_VALGRIND) {
    Py_RETURN_FALSE;
  }
  if (read_calls(&what, args, nargs) != 0) {
    return NULL;
  }
  status = loop(&what, WARM_CALLS);
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
  status = status == 0 ? loop(&what, what.count) : status;
  CALLGRIND_DUMP_STATS;
  CALLGRIND_STOP_INSTRUMENTATION;
  Py_XDECREF(what.names);
  return status == 0 ? PyBool_FromLong(1) : NULL;
#else
  (void)module;
  (void)args;
  (void)nargs;
  Py_RETURN_FALSE;
#endif
}

/* ---- anchors ---- */

static PyObject* empty(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* names) {
  (void)module;
  (void)args;
  (void)nargs;
  (void)names;
  Py_RETURN_NONE;
}

/* What every exchange by a capsule does: the producer creates the capsule, and the consumer
   inspects, renames and drops it. */
static PyObject* handshake(PyObject* module, PyObject* const* args, Py_ssize_t nargs,
                           PyObject* names) {
  static DLManagedTensorVersioned tensor;
  PyObject* capsule = PyCapsule_New(&tensor, "dltensor_versioned", NULL);
  (void)module;
  (void)args;
  (void)nargs;
  (void)names;
  if (capsule == NULL || !PyCapsule_IsValid(capsule, "dltensor_versioned") ||
      PyCapsule_GetPointer(capsule, "dltensor_versioned") == NULL ||
      PyCapsule_SetName(capsule, "used_dltensor_versioned") != 0 ||
      PyCapsule_SetDestructor(capsule, NULL) != 0) {
    return NULL;
  }
  Py_DECREF(capsule);
  Py_RETURN_NONE;
}

#if DLPACK_MAJOR_VERSION > 1 || DLPACK_MINOR_VERSION >= 3

/* The exchange table of an object's type. The last one is kept. */
static const DLPackExchangeAPI* table_of(PyObject* object) {
  static const DLPackExchangeAPI* table = NULL;
  static PyTypeObject* type = NULL;
  if (type != Py_TYPE(object)) {
    PyObject* capsule =
        PyObject_GetAttrString((PyObject*)Py_TYPE(object), "__dlpack_c_exchange_api__");
    table = capsule == NULL ? NULL : PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    type = Py_TYPE(object);
    Py_XDECREF(capsule);
  }
  return table;
}

static PyObject* own_by_table(PyObject* module, PyObject* const* args, Py_ssize_t nargs,
                              PyObject* names) {
  DLManagedTensorVersioned* tensor = NULL;
  const DLPackExchangeAPI* table = table_of(args[0]);
  (void)module;
  (void)nargs;
  (void)names;
  if (table == NULL || table->managed_tensor_from_py_object_no_sync(args[0], &tensor) != 0) {
    return NULL;
  }
  tensor->deleter(tensor);
  Py_RETURN_NONE;
}

static PyObject* view_by_table(PyObject* module, PyObject* const* args, Py_ssize_t nargs,
                               PyObject* names) {
  DLTensor tensor;
  const DLPackExchangeAPI* table = table_of(args[0]);
  (void)module;
  (void)nargs;
  (void)names;
  if (table == NULL || table->dltensor_from_py_object_no_sync(args[0], &tensor) != 0) {
    return NULL;
  }
  Py_RETURN_NONE;
}

static PyObject* round_trip_by_table(PyObject* module, PyObject* const* args, Py_ssize_t nargs,
                                     PyObject* names) {
  DLManagedTensorVersioned* tensor = NULL;
  const DLPackExchangeAPI* table = table_of(args[0]);
  void* result = NULL;
  (void)module;
  (void)nargs;
  (void)names;
  if (table == NULL || table->managed_tensor_from_py_object_no_sync(args[0], &tensor) != 0 ||
      table->managed_tensor_to_py_object_no_sync(tensor, &result) != 0) {
    return NULL;
  }
  return result;
}

#endif

#define WITH_NAMES(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL | METH_KEYWORDS

static PyMethodDef functions[] = {
    {"run", (PyCFunction)(void (*)(void))run, METH_FASTCALL,
     "run(function, arguments, keywords, count, fails): nanoseconds of count calls"},
    {"run_over", (PyCFunction)(void (*)(void))run_over, METH_FASTCALL,
     "run_over(function, objects, rounds): nanoseconds of calls with each object in turn"},
    {"profile", (PyCFunction)(void (*)(void))profile, METH_FASTCALL,
     "profile(function, arguments, keywords, count, fails): whether callgrind wrote a profile"},
    {"empty", WITH_NAMES(empty), "takes anything and does nothing: the minimal cost of a call"},
    {"handshake", WITH_NAMES(handshake), "creates, inspects, renames and drops a capsule"},
#if DLPACK_MAJOR_VERSION > 1 || DLPACK_MINOR_VERSION >= 3
    {"own_by_table", WITH_NAMES(own_by_table),
     "own_by_table(object): exports the object by its exchange table, and calls the deleter"},
    {"view_by_table", WITH_NAMES(view_by_table),
     "view_by_table(object): borrows the object's tensor by its exchange table"},
    {"round_trip_by_table", WITH_NAMES(round_trip_by_table),
     "round_trip_by_table(object): exports the object and imports it again by its exchange table"},
#endif
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "bench_loop", NULL, 0, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_bench_loop(void) { return PyModule_Create(&definition); }
