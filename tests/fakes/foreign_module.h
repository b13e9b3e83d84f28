// SPDX-License-Identifier: BSD-3-Clause
/* Declarations shared by the files of the Python module `foreign`. */
#ifndef FOREIGN_MODULE_H
#define FOREIGN_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "foreign_producer.h"

/* Returns a new Handle, with the keywords of foreign.tensor(). */
PyObject* foreign_make_handle(PyObject* args, PyObject* keywords);
/* Returns the tensor of a Handle, or NULL with an exception set. */
foreign_tensor* foreign_tensor_of(PyObject* handle);
/* Exports the versioned struct of a Handle. The consumer must call its deleter once. */
struct DLManagedTensorVersioned* foreign_export(PyObject* handle);

/* Returns a new Consumed that owns the managed tensor. */
PyObject* foreign_make_consumed(int versioned, void* managed);
/* The same; without memory for the object it calls the deleter. */
PyObject* foreign_take_over(int versioned, void* managed);
/* Returns the tensor that a Consumed owns, or NULL with an exception set when it is not versioned.
 */
struct DLManagedTensorVersioned* foreign_owned_by(PyObject* consumed);
/* Releases the ownership of a Consumed without a deleter call. */
void foreign_release_ownership(PyObject* consumed);

/* Adds Exported and the functions for exchange tables to the module. */
int foreign_add_exchange(PyObject* module);

#endif
