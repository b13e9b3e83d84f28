// Implements what private_api.hpp tells of types, and of functions, with the limited API.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdio>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python::detail {
// Keeps the pending exception, and drops one that is set meanwhile.
class kept_exception {
 public:
  kept_exception() noexcept { PyErr_Fetch(&parts_[0], &parts_[1], &parts_[2]); }
  ~kept_exception() { PyErr_Restore(parts_[0], parts_[1], parts_[2]); }
  kept_exception(kept_exception const&) = delete;
  kept_exception& operator=(kept_exception const&) = delete;

 private:
  PyObject* parts_[3] = {};
};

// A member of a type that the limited API hides, as type itself has it: no metaclass replaces it.
// Null, without an exception, for None and if there is none.
enum class type_member { mro, base, dict, name, module, dict_offset, basic_size };
inline PyObject* read_type(PyTypeObject* type, type_member which) {
  constexpr char const* member_names[] = {"__mro__",      "__base__",   "__dict__",
                                          "__name__",     "__module__", "__dictoffset__",
                                          "__basicsize__"};
  static PyObject* getters[sizeof member_names / sizeof *member_names];
  kept_exception const pending;
  PyObject*& getter = getters[static_cast<int>(which)];
  auto* const meta = reinterpret_cast<PyObject*>(&PyType_Type);
  PyObject* value = nullptr;
  if (getter == nullptr) {
    PyObject* const all = PyObject_GetAttrString(meta, "__dict__");
    getter = all != nullptr ? PyMapping_GetItemString(all, member_names[static_cast<int>(which)])
                            : nullptr;
    Py_XDECREF(all);
  }
  if (getter != nullptr) {
    auto* const get =
        reinterpret_cast<descrgetfunc>(PyType_GetSlot(Py_TYPE(getter), Py_tp_descr_get));
    value = get(getter, reinterpret_cast<PyObject*>(type), meta);
  }
  if (value == Py_None) {
    Py_CLEAR(value);
  }
  return value;
}

inline Py_ssize_t read_size(PyTypeObject* type, type_member which, Py_ssize_t otherwise) {
  PyObject* const value = read_type(type, which);
  Py_ssize_t const size = value != nullptr ? PyLong_AsSsize_t(value) : otherwise;
  Py_XDECREF(value);
  return size;
}

// A type of PyType_FromSpec states the offset by a member, whose value is the vectorcall.
vector_function** place_of_vectorcall(PyObject* function) noexcept {
  kept_exception const pending;
  PyTypeObject* const type = Py_TYPE(function);
  constexpr unsigned long has_vectorcall = 1UL << 11;
  PyObject* const value = (PyType_GetFlags(type) & has_vectorcall) != 0
                              ? PyObject_GetAttrString(function, "__vectorcalloffset__")
                              : nullptr;
  void* const call = value != nullptr ? PyLong_AsVoidPtr(value) : nullptr;
  Py_XDECREF(value);
  auto** const words = reinterpret_cast<void**>(function);
  Py_ssize_t const count = read_size(type, type_member::basic_size, 0) / Py_ssize_t{sizeof(void*)};
  void** const place = std::find(words, words + count, call);
  return call != nullptr && place != words + count ? reinterpret_cast<vector_function**>(place)
                                                   : nullptr;
}

inline type_name::type_name(PyTypeObject* type) noexcept : text_(own_) {
  kept_exception const pending;
  bool const is_static = (PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE) == 0;
  PyObject* const module = is_static ? read_type(type, type_member::module) : nullptr;
  PyObject* const name = read_type(type, type_member::name);
  char const* text = module != nullptr && PyUnicode_Check(module) &&
                             PyUnicode_CompareWithASCIIString(module, "builtins") != 0
                         ? PyUnicode_AsUTF8AndSize(module, nullptr)
                         : nullptr;
  int const used = text != nullptr ? std::snprintf(own_, sizeof own_, "%s.", text) : 0;
  auto const start =
      used < static_cast<int>(sizeof own_) ? used : static_cast<int>(sizeof own_) - 1;
  text = name != nullptr ? PyUnicode_AsUTF8AndSize(name, nullptr) : nullptr;
  std::snprintf(own_ + start, sizeof own_ - static_cast<std::size_t>(start), "%s",
                text != nullptr ? text : "?");
  Py_XDECREF(module);
  Py_XDECREF(name);
}

PyObject* mro_of(PyTypeObject* type) { return read_type(type, type_member::mro); }
PyObject* layout_base_of(PyTypeObject* type) { return read_type(type, type_member::base); }

PyObject* stored_attribute(PyTypeObject* type, PyObject* name) {
  kept_exception const pending;
  PyObject* const classes = mro_of(type);
  Py_ssize_t const count = classes != nullptr ? PyTuple_Size(classes) : 0;
  PyObject* found = nullptr;
  for (Py_ssize_t i = 0; found == nullptr && i < count; ++i) {
    auto* const each = reinterpret_cast<PyTypeObject*>(PyTuple_GetItem(classes, i));
    PyObject* const all = read_type(each, type_member::dict);
    bool const has = all != nullptr && PySequence_Contains(all, name) > 0;
    found = has ? PyObject_GetItem(all, name) : nullptr;
    Py_XDECREF(all);
  }
  Py_XDECREF(classes);
  return found;
}

// Whether neither a type nor its bases can be modified.
inline bool cannot_change(PyTypeObject* type) {
  PyObject* const classes = mro_of(type);
  Py_ssize_t const count = classes != nullptr ? PyTuple_Size(classes) : 0;
  bool is_fixed = count != 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    auto* const each = reinterpret_cast<PyTypeObject*>(PyTuple_GetItem(classes, i));
    unsigned long const flags = PyType_GetFlags(each);
    is_fixed =
        is_fixed && ((flags & Py_TPFLAGS_HEAPTYPE) == 0 || (flags & Py_TPFLAGS_IMMUTABLETYPE) != 0);
  }
  Py_XDECREF(classes);
  return is_fixed;
}

type_state state_of(PyTypeObject* type) {
  kept_exception const pending;
  type_state state;
  auto* const object = reinterpret_cast<PyObject*>(type);
  state.is_fixed = cannot_change(type);
  state.has_generic_lookup = has_generic_lookup(type);
  if (state.is_fixed) {
    Py_INCREF(object);
    state.alive = object;
  } else if (PyType_GetSlot(Py_TYPE(object), Py_tp_getattro) ==
             PyType_GetSlot(&PyType_Type, Py_tp_getattro)) {  // else lookups may run Python code
    state.alive = PyWeakref_NewRef(object, nullptr);
  }
  return state;
}

void rely_on(type_state* state, PyTypeObject* type, PyObject* name) {
  if (state->alive == nullptr || state->is_fixed) {
    return;
  }
  kept_exception const pending;
  PyObject* const stored = stored_attribute(type, name);
  PyObject* const read =
      stored != nullptr ? PyObject_GetAttr(reinterpret_cast<PyObject*>(type), name) : nullptr;
  state->names[state->count] = name;
  state->values[state->count++] = stored;
  if (read != stored) {  // what a descriptor gives, which may run Python code
    forget(state);
  }
  Py_XDECREF(read);
}

// The object of a weak reference, borrowed. 3.13 deprecates this function for one that older
// versions lack.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#elif defined(_MSC_VER)
#pragma warning(push)
#pragma warning(disable : 4996)
#endif
inline PyObject* object_of(PyObject* weak) noexcept { return PyWeakref_GetObject(weak); }
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#elif defined(_MSC_VER)
#pragma warning(pop)
#endif

// The same question for a type that can be modified. A pending exception, which a lookup that fails
// would replace, makes the answer unknown.
DLBRIDGE_NOINLINE inline bool is_unmodified(PyTypeObject* type, type_state const& state) noexcept {
  bool is_same = PyErr_Occurred() == nullptr &&
                 object_of(state.alive) == reinterpret_cast<PyObject*>(type) &&
                 has_generic_lookup(type) == state.has_generic_lookup;
  for (int i = 0; is_same && i < state.count; ++i) {
    PyObject* const now = state.values[i] != nullptr
                              ? PyObject_GetAttr(reinterpret_cast<PyObject*>(type), state.names[i])
                              : stored_attribute(type, state.names[i]);
    is_same = now == state.values[i];
    if (now == nullptr) {
      PyErr_Clear();
    }
    Py_XDECREF(now);
  }
  return is_same;
}

bool is_in(PyTypeObject* type, type_state const& state) noexcept {
  return state.alive != nullptr && (state.is_fixed || is_unmodified(type, state));
}

void forget(type_state* state) {
  Py_CLEAR(state->alive);
  while (state->count != 0) {
    Py_XDECREF(state->values[--state->count]);
  }
}

bool has_generic_lookup(PyTypeObject* type) noexcept {
  return PyType_GetSlot(type, Py_tp_getattro) == reinterpret_cast<void*>(&PyObject_GenericGetAttr);
}

bool has_type_attributes_only(PyTypeObject* type) noexcept {
  return has_generic_lookup(type) && read_size(type, type_member::dict_offset, -1) == 0;
}

// False if the object gives what a method descriptor of its type, called with the object, gives.
bool may_have_own(PyObject* object, PyObject* name) {
  PyTypeObject* const type = Py_TYPE(object);
  PyObject* const stored = stored_attribute(type, name);
  auto* const get =
      stored != nullptr
          ? reinterpret_cast<descrgetfunc>(PyType_GetSlot(Py_TYPE(stored), Py_tp_descr_get))
          : nullptr;
  PyObject* const bound =
      get != nullptr ? get(stored, object, reinterpret_cast<PyObject*>(type)) : nullptr;
  PyObject* const found = bound != nullptr ? PyObject_GetAttr(object, name) : nullptr;
  if (PyErr_Occurred() != nullptr && PyErr_ExceptionMatches(PyExc_AttributeError)) {
    PyErr_Clear();
  }
  bool const is_same = found != nullptr && PyCFunction_Check(bound) && PyCFunction_Check(found) &&
                       PyCFunction_GetSelf(found) == object &&
                       PyCFunction_GetFunction(found) == PyCFunction_GetFunction(bound);
  Py_XDECREF(stored);
  Py_XDECREF(bound);
  Py_XDECREF(found);
  return !is_same;
}

Py_ssize_t object_size(PyTypeObject* type) noexcept {
  return read_size(type, type_member::basic_size, 0);
}

bool converts_to_number(PyTypeObject* type) noexcept {
  return PyType_GetSlot(type, Py_nb_float) != nullptr ||
         PyType_GetSlot(type, Py_nb_index) != nullptr;
}

bool has_len(PyTypeObject* type) noexcept {
  return PyType_GetSlot(type, Py_sq_length) != nullptr ||
         PyType_GetSlot(type, Py_mp_length) != nullptr;
}

bool has_iter(PyTypeObject* type) noexcept { return PyType_GetSlot(type, Py_tp_iter) != nullptr; }
bool has_descr_get(PyTypeObject* type) noexcept {
  return PyType_GetSlot(type, Py_tp_descr_get) != nullptr;
}

void forbid_calls(PyTypeObject*) noexcept {}

void set_weak_references(PyTypeObject*, Py_ssize_t) noexcept {}
PyType_Slot weak_references_slot(Py_ssize_t offset) noexcept {
  static struct {  // a PyMemberDef, of structmember.h before 3.12
    char const* name;
    int type;
    Py_ssize_t offset;
    int flags;
    char const* doc;
  } members[] = {{"__weaklistoffset__", 19, offset, 1, nullptr}, {nullptr, 0, 0, 0, nullptr}};
  return {Py_tp_members, members};
}

// The attribute of an object; null, without an exception, if there is none.
inline PyObject* attribute_or_null(PyObject* object, char const* name) {
  kept_exception const pending;
  return PyObject_GetAttrString(object, name);
}

// Whether an object is of a type of the module types.
enum class function_kind { function, method, method_descriptor, property };
inline bool is_kind(PyObject* object, function_kind which) noexcept {
  constexpr char const* kind_names[] = {"FunctionType", "MethodType", "MethodDescriptorType",
                                        "GetSetDescriptorType"};
  static PyObject* kinds[4];
  PyObject*& kind = kinds[static_cast<int>(which)];
  if (kind == nullptr) {
    kept_exception const pending;
    PyObject* const module = PyImport_ImportModule("types");
    kind = module != nullptr ? attribute_or_null(module, kind_names[static_cast<int>(which)])
                             : nullptr;
    Py_XDECREF(module);
  }
  return reinterpret_cast<PyObject*>(Py_TYPE(object)) == kind;
}

bool is_python_function(PyObject* object) noexcept {
  return is_kind(object, function_kind::function);
}

bool is_method_of(PyObject* method, PyObject* function) noexcept {
  PyObject* const own =
      is_kind(method, function_kind::method) ? attribute_or_null(method, "__func__") : nullptr;
  Py_XDECREF(own);
  return own != nullptr && own == function;
}

bool is_method_descriptor(PyObject* object) noexcept {
  return is_kind(object, function_kind::method_descriptor);
}

bool lacks_parameter(PyObject* function, PyObject* keyword) {
  constexpr long takes_any_keyword = 0x08;  // CO_VARKEYWORDS
  PyObject* const code = attribute_or_null(function, "__code__");
  auto const number = [code](char const* name) {
    PyObject* const value = code != nullptr ? attribute_or_null(code, name) : nullptr;
    long const read = value != nullptr ? PyLong_AsLong(value) : 0;
    Py_XDECREF(value);
    return read;
  };
  PyObject* const variables = code != nullptr ? attribute_or_null(code, "co_varnames") : nullptr;
  bool has = variables == nullptr || (number("co_flags") & takes_any_keyword) != 0;
  long const count = has ? 0 : number("co_argcount") + number("co_kwonlyargcount");
  for (Py_ssize_t i = 0; i < count; ++i) {  // all interned
    has = has || PyTuple_GetItem(variables, i) == keyword;
  }
  Py_XDECREF(variables);
  Py_XDECREF(code);
  return !has;
}

// The descriptor, which checks the type of the object, in place of its C function.
property_reader reader_of(PyTypeObject* type, PyObject* name, bool is_method) {
  property_reader reader;
  PyObject* const attribute = has_generic_lookup(type) ? stored_attribute(type, name) : nullptr;
  if (attribute == nullptr) {
    return reader;
  }
  if (is_method && is_kind(attribute, function_kind::method_descriptor)) {
    reader.property = [](PyObject* object, void* descriptor) {
      PyObject* arguments[] = {nullptr, object};
      return call_vector(static_cast<PyObject*>(descriptor), arguments + 1, 1, nullptr);
    };
  } else if (!is_method && is_kind(attribute, function_kind::property)) {
    reader.property = [](PyObject* object, void* descriptor) {
      auto* const own = static_cast<PyObject*>(descriptor);
      auto* const get =
          reinterpret_cast<descrgetfunc>(PyType_GetSlot(Py_TYPE(own), Py_tp_descr_get));
      return get(own, object, reinterpret_cast<PyObject*>(Py_TYPE(object)));
    };
  }
  if (reader.property != nullptr) {
    reader.closure = attribute;  // never freed, as a library defines it
  } else {
    Py_DECREF(attribute);
  }
  return reader;
}
}  // namespace python::detail
DLBRIDGE_END_NAMESPACE
