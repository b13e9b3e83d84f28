// python/detail: Python.h, and all that dlbridge uses of CPython beyond its limited API.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>
#if PY_VERSION_HEX < 0x03090000
#error "dlbridge requires CPython 3.9 or newer."
#elif defined(Py_LIMITED_API) && Py_LIMITED_API + 0 < 0x030A0000
#error \
    "dlbridge requires the limited API of CPython 3.10 or newer: define Py_LIMITED_API as \
0x030A0000, or as the hexadecimal version of the oldest CPython that is to load the extension."
#elif defined(Py_LIMITED_API) && defined(Py_GIL_DISABLED)
#error \
    "dlbridge does not support the limited API of free-threaded CPython: build the extension for \
each free-threaded version without Py_LIMITED_API."
#endif

#include <cstddef>

#include <dlbridge/abi.hpp>

// full_api.inl implements this header with the structs and functions of one version of CPython.
// limited_api.inl implements it, where Py_LIMITED_API is defined, with what every version promises;
// and with functions that every version exports without promising them, which it looks up by name
// in the running interpreter and does without where they are gone.
//
// Functions that return PyObject* return a new reference, or null with an exception set, unless
// they say otherwise. The caller holds the GIL, and calls those that may run Python code by api<>.
DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
// The interpreter and its threads. Any thread may call these four, without the GIL.
inline bool is_finalizing() noexcept;
// Whether this thread holds the GIL, with the thread state that PyGILState_Ensure would use. Up to
// 3.11 the current thread state is that of whichever thread holds the GIL.
inline bool holds_gil() noexcept;
// The same, but true while subinterpreters exist.
inline bool may_hold_gil() noexcept;
// Whether this thread finalizes the interpreter, and may therefore acquire the GIL: PyTorch frees
// tensors without it. CPython has deleted the states of all other threads by then.
inline bool finalizes_interpreter() noexcept;

// Items of exact tuples and lists, borrowed; and of new ones, which take the reference.
DLBRIDGE_INLINE Py_ssize_t tuple_size(PyObject* tuple) noexcept;
DLBRIDGE_INLINE PyObject* tuple_item(PyObject* tuple, Py_ssize_t i) noexcept;
DLBRIDGE_INLINE void set_tuple_item(PyObject* tuple, Py_ssize_t i, PyObject* item) noexcept;
DLBRIDGE_INLINE Py_ssize_t list_size(PyObject* list) noexcept;
DLBRIDGE_INLINE PyObject* list_item(PyObject* list, Py_ssize_t i) noexcept;
DLBRIDGE_INLINE void set_list_item(PyObject* list, Py_ssize_t i, PyObject* item) noexcept;

// Values: of an exact float; of any complex number, by __complex__ or __float__, which may set an
// exception; whether all characters of a str are ASCII, or false where that is unknown.
DLBRIDGE_INLINE double float_value(PyObject* number) noexcept;
struct complex_parts {
  double real;
  double imaginary;
};
inline complex_parts complex_value(PyObject* number);
inline bool is_known_ascii(PyObject* text) noexcept;

// Calls.
using vector_function = PyObject*(PyObject*, PyObject* const*, std::size_t, PyObject*);
constexpr std::size_t may_use_place_before = std::size_t{1} << (8 * sizeof(std::size_t) - 1);
// Where an object of variable size has its vectorcall; null without one.
inline vector_function** place_of_vectorcall(PyObject* function) noexcept;
inline PyObject* call_with(PyObject* function, PyObject* argument);
// Runs Python code in a namespace, a dict.
inline PyObject* run_source(char const* source, PyObject* space);
inline PyObject* call_named(PyObject* object, PyObject* name);
// A vectorcall, whose first argument may be overwritten at arguments[-1].
inline PyObject* call_vector(PyObject* function, PyObject** arguments, std::size_t positional,
                             PyObject* names);

// The name of a type, as messages have it: that of a static type begins with its module.
class type_name {
 public:
  explicit type_name(PyTypeObject* type) noexcept;
  char const* c_str() const noexcept { return text_; }

#if defined(Py_LIMITED_API)
  type_name(type_name const&) = delete;
  type_name& operator=(type_name const&) = delete;

 private:
  char own_[160] = {};
#else

 private:
#endif
  char const* text_;
};

// The attribute of a type as it, or one of its bases, stores it. Null, without an exception, if
// there is none. No Python code runs.
inline PyObject* stored_attribute(PyTypeObject* type, PyObject* name);
// The tuple of a type and those from which it is derived, and the type from which the objects have
// their layout. Null, without an exception, if there is none. No Python code runs.
inline PyObject* mro_of(PyTypeObject* type);
inline PyObject* layout_base_of(PyTypeObject* type);

// What tells later whether a type is still as it is now, and no other type has taken its address.
// The limited API tells no modification: the state of a type that can be modified has the
// attributes on which the caller relies, which is_in looks up each time.
struct type_state {
#if defined(Py_LIMITED_API)
  PyObject* alive = nullptr;  // owned: the type if it cannot be modified, or a weak reference to it
  bool is_fixed = false;
  bool has_generic_lookup = false;
  int count = 0;
  PyObject* names[3] = {};
  PyObject* values[3] = {};  // owned, or null
#else
  unsigned tag = 0;  // no other state of any type has this version tag
#endif
};
inline type_state state_of(PyTypeObject* type);
// Adds an attribute, one of at most three, before any Python code runs. The name is never freed.
inline void rely_on(type_state* state, PyTypeObject* type, PyObject* name);
// False also for a type of which no state is known. No Python code runs.
DLBRIDGE_INLINE bool is_in(PyTypeObject* type, type_state const& state) noexcept;
inline void forget(type_state* state);
// Whether a lookup in the objects of a type is PyObject_GenericGetAttr; and whether they also have
// no attributes of their own. False where that is unknown.
inline bool has_generic_lookup(PyTypeObject* type) noexcept;
inline bool has_type_attributes_only(PyTypeObject* type) noexcept;
// Whether an object whose type has a generic lookup has, or may have, an attribute of its own. An
// exception of a key of its dict stays pending.
inline bool may_have_own(PyObject* object, PyObject* name);
inline Py_ssize_t object_size(PyTypeObject* type) noexcept;
inline bool converts_to_number(PyTypeObject* type) noexcept;  // __float__ or __index__
inline bool has_len(PyTypeObject* type) noexcept;
inline bool has_iter(PyTypeObject* type) noexcept;
inline bool has_descr_get(PyTypeObject* type) noexcept;
// The flag of types that Python code cannot call.
#if defined(Py_TPFLAGS_DISALLOW_INSTANTIATION)
constexpr unsigned uncallable_type = Py_TPFLAGS_DISALLOW_INSTANTIATION;
#else  // before Python 3.10
constexpr unsigned uncallable_type = 0;
#endif
// A new type of PyType_FromSpec: refuses calls of it, for CPython before 3.10; lets its objects
// have weak references, in a pointer at an offset, by a function or by the last slot but one.
inline void forbid_calls(PyTypeObject* type) noexcept;
inline void set_weak_references(PyTypeObject* type, Py_ssize_t offset) noexcept;
inline PyType_Slot weak_references_slot(Py_ssize_t offset) noexcept;

// Functions of Python code, their methods, and methods of C functions of a type.
inline bool is_python_function(PyObject* object) noexcept;
inline bool is_method_of(PyObject* method, PyObject* function) noexcept;
inline bool is_method_descriptor(PyObject* object) noexcept;
// Whether a function of Python code would raise TypeError for a keyword, which is interned.
inline bool lacks_parameter(PyObject* function, PyObject* keyword);

// How a property is read: by the C function of its descriptor, or, where both are null, by an
// attribute that is looked up, which costs more than the export of a tensor. The functions belong
// to the module that defines the type, and outlive a change of the type.
struct property_reader {
  PyCFunction method = nullptr;
  getter property = nullptr;
  void* closure = nullptr;
};
// The C function that reads a property of the objects of a type. None for a type with a lookup of
// its own, for an attribute that Python code defines, and for a descriptor of another type: only a
// call of the descriptor itself checks the type of the object. No Python code runs.
inline property_reader reader_of(PyTypeObject* type, PyObject* name, bool is_method);
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/detail/private_api.inl>
