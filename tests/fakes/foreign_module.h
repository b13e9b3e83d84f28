/* What the files of the Python module `foreign` share. */
#ifndef FOREIGN_MODULE_H
#define FOREIGN_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "foreign_producer.h"

/* A new Handle, by the keywords of foreign.tensor(). */
PyObject* foreign_make_handle(PyObject* args, PyObject* keywords);
/* The tensor behind a Handle, or NULL with an exception set. */
foreign_tensor* foreign_behind(PyObject* handle);
/* Its versioned struct, handed out: one more deleter call is owed. */
struct DLManagedTensorVersioned* foreign_hand_out(PyObject* handle);

/* A Consumed that owns what is given; what one owns (NULL with an exception set when it is no
   versioned tensor), and the same given up. */
PyObject* foreign_make_consumed(int versioned, void* managed);
struct DLManagedTensorVersioned* foreign_owned_by(PyObject* consumed);
void foreign_give_up(PyObject* consumed);

/* Adds Exported and the functions about exchange tables. */
int foreign_add_exchange(PyObject* module);

#endif
