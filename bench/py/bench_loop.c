/* Times calls from C by vectorcall, without the cost of a loop in Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlpack/dlpack.h>
#include <time.h>

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

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

/* run(function, arguments: tuple, keywords: dict or None, count) -> nanoseconds of all calls */
static PyObject* run(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  PyObject* values[16];
  PyObject* names = NULL;
  Py_ssize_t positional, named, count, i;
  double start, end;
  (void)module;
  if (nargs != 4 || !PyTuple_Check(args[1]) || !(args[2] == Py_None || PyDict_Check(args[2]))) {
    PyErr_SetString(PyExc_TypeError, "run(function, arguments, keywords, count)");
    return NULL;
  }
  positional = PyTuple_GET_SIZE(args[1]);
  named = args[2] == Py_None ? 0 : PyDict_Size(args[2]);
  count = PyLong_AsSsize_t(args[3]);
  if (positional + named > 15 || PyErr_Occurred()) {
    PyErr_SetString(PyExc_ValueError, "at most 15 arguments, and a count");
    return NULL;
  }
  for (i = 0; i < positional; ++i) {
    values[1 + i] = PyTuple_GET_ITEM(args[1], i);
  }
  if (named > 0 && (names = intern_names(args[2], values + 1 + positional)) == NULL) {
    return NULL;
  }
  start = now_ns();
  for (i = 0; i < count; ++i) {
    PyObject* result = PyObject_Vectorcall(
        args[0], values + 1, (size_t)positional | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
    if (result == NULL) {
      Py_XDECREF(names);
      return NULL;
    }
    Py_DECREF(result);
  }
  end = now_ns();
  Py_XDECREF(names);
  return PyFloat_FromDouble(end - start);
}

static PyObject* empty(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* names) {
  (void)module;
  (void)args;
  (void)nargs;
  (void)names;
  Py_RETURN_NONE;
}

/* own_by_table(object): exports the object as an owned tensor by its exchange table, and calls the
   deleter. The table is looked up once for all objects. */
static PyObject* own_by_table(PyObject* module, PyObject* const* args, Py_ssize_t nargs,
                              PyObject* names) {
  static const DLPackExchangeAPI* table = NULL;
  DLManagedTensorVersioned* tensor = NULL;
  (void)module;
  (void)nargs;
  (void)names;
  if (table == NULL) {
    PyObject* capsule =
        PyObject_GetAttrString((PyObject*)Py_TYPE(args[0]), "__dlpack_c_exchange_api__");
    table = capsule == NULL ? NULL : PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    Py_XDECREF(capsule);
  }
  if (table == NULL || table->managed_tensor_from_py_object_no_sync(args[0], &tensor) != 0) {
    return NULL;
  }
  tensor->deleter(tensor);
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"run", (PyCFunction)(void (*)(void))run, METH_FASTCALL,
     "run(function, arguments, keywords, count): nanoseconds of count calls"},
    {"empty", (PyCFunction)(void (*)(void))empty, METH_FASTCALL | METH_KEYWORDS,
     "takes anything and does nothing: the minimal cost of a call"},
    {"own_by_table", (PyCFunction)(void (*)(void))own_by_table, METH_FASTCALL | METH_KEYWORDS,
     "own_by_table(object): exports the object by its exchange table, and calls the deleter"},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "bench_loop", NULL, 0, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_bench_loop(void) { return PyModule_Create(&definition); }
