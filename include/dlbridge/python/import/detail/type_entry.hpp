// type_entry: what one Python type offers to a consumer, and how that is looked up.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/exchange_table.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/detail/tensor_head.hpp>
#include <dlbridge/python/import/detail/known_types.hpp>
#include <dlbridge/python/ref.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

namespace detail {
// Whether the environment variable DLBRIDGE_PROTOCOL_ONLY is set to anything but "" and "0":
// imports then call __dlpack__ only, and results for NumPy are created by functions of the module
// numpy.
DLBRIDGE_LOCAL inline bool uses_protocol_only() noexcept {
  static bool const is_set = [] {
    char const* const value = std::getenv("DLBRIDGE_PROTOCOL_ONLY");
    return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
  }();
  return is_set;
}
}  // namespace detail

struct library_row;  // call/detail/path_to_library.hpp

/// What one Python type offers. The references are borrowed from the type and valid until it is
/// modified or destroyed: a caller that lets Python code run meanwhile holds a reference to dlpack.
/// On free-threaded builds, where another thread may modify the type at any time, the reference to
/// dlpack is held. An entry fills whole cache lines; a shift gives the address of a slot.
struct alignas(64) type_entry {
  PyTypeObject* type = nullptr;
  unsigned version_tag = 0;  // 0: the entry is not valid
  /// Whether dlpack is called with the object as first argument: no object has one of its own.
  bool takes_self = false;
  bool legacy_only = false;      ///< dlpack has no parameter max_version
  bool has_table = false;        ///< arguments use the exchange table: no __dlpack__ overrides it
  bool defines_table = false;    ///< from_dlpack uses it as well: the type does not inherit it
  bool has_head = false;         ///< the objects are Tensors, which begin with a tensor_head
  bool has_export_path = false;  ///< whether library and from_dlpack are known
  PyObject* dlpack = nullptr;    ///< the type's attribute __dlpack__, or null
  /// numpy.ndarray, if the type is that, or is derived from it and inherits its __dlpack__. That
  /// reads only the fields: so may dlbridge, unless the object has a __dlpack__ of its own.
  PyTypeObject* array_type = nullptr;
  exchange_table exchange{};  ///< the exchange table, if its major version is supported
  detail::property_tests tests{};
  library_row const* library = nullptr;  ///< the library that defines the type, if it is known
  PyObject* from_dlpack = nullptr;       ///< its function, held; or null

  bool is_ndarray() const noexcept { return array_type == type; }
  detail::known_type const* known() const noexcept { return tests.row; }
};

namespace detail {
// The version tag of a type; 0 if it has none.
inline unsigned tag_of(PyTypeObject* type) noexcept {
#if defined(Py_GIL_DISABLED)
  return _Py_atomic_load_uint_relaxed(&type->tp_version_tag);  // another thread may assign it
#else
#if PY_VERSION_HEX < 0x030A0000
  if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) {
    return 0;
  }
#endif
  return type->tp_version_tag;
#endif
}

inline void const* table_in(PyObject* capsule) noexcept {
  return PyCapsule_IsValid(capsule, exchange_capsule_name()) != 0
             ? api<PyCapsule_GetPointer>(capsule, exchange_capsule_name())
             : nullptr;
}

// The table's address, or null. DLPack 1.3 stores a capsule under one attribute name, DLPack 1.2
// a capsule or an int under another (spec 5.1). An int under the newer name is no address.
DLBRIDGE_COLD inline void const* exchange_header_of(PyTypeObject* type) noexcept {
  names const& n = names::get();
  if (ref const attribute = type_attribute(type, n.exchange_table)) {
    return table_in(attribute.get());
  }
  ref const older = type_attribute(type, n.exchange_table_1_2);
  if (!older || !PyLong_CheckExact(older.get())) {
    return older ? table_in(older.get()) : nullptr;
  }
  void const* const header = api<PyLong_AsVoidPtr>(older.get());
  api<PyErr_Clear>();
  auto const address = reinterpret_cast<std::uintptr_t>(header);
  constexpr std::uintptr_t page = 4096;  // no object is in the first one, nor misaligned
  return address >= page && address % alignof(void*) == 0 ? header : nullptr;
}

// Finds out who may use the table of a type, whose other facts are known.
DLBRIDGE_COLD inline void judge_table(type_entry& fresh, void const* header) noexcept {
  fresh.has_table = static_cast<bool>(fresh.exchange);
  fresh.defines_table = fresh.has_table && fresh.dlpack != Py_None;
  ref base = base_of(fresh.type);
  while (fresh.has_table && base) {
    auto* const from = reinterpret_cast<PyTypeObject*>(base.get());
    if (exchange_header_of(from) != header) {
      return;
    }
    fresh.defines_table = false;
    fresh.has_table = type_attribute(from, names::get().dlpack).get() == fresh.dlpack;
    base = base_of(from);
  }
}

// Whether no object of a type has attributes of its own.
inline bool has_type_attributes_only(PyTypeObject* type) noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  if (PyType_HasFeature(type, Py_TPFLAGS_MANAGED_DICT)) {
    return false;
  }
#endif
  return type->tp_dictoffset == 0 && type->tp_getattro == &PyObject_GenericGetAttr;
}

inline bool is_numpy_ndarray(PyTypeObject* type) noexcept {
  return !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) &&
         std::strcmp(type->tp_name, "numpy.ndarray") == 0;
}

// The array_type of a type whose attribute __dlpack__ is given. Without the GIL none of a derived
// type, as another thread may give the object a __dlpack__ meanwhile.
inline PyTypeObject* find_array_type(PyTypeObject* type, PyObject* dlpack) noexcept {
  if (is_numpy_ndarray(type)) {
    return type;
  }
#if !defined(Py_GIL_DISABLED)
  PyTypeObject* base = type->tp_getattro == &PyObject_GenericGetAttr ? type->tp_base : nullptr;
  while (base != nullptr && !is_numpy_ndarray(base)) {
    base = base->tp_base;
  }
  if (base != nullptr && dlpack != nullptr &&
      type_attribute(base, names::get().dlpack).get() == dlpack) {
    return base;
  }
#else
  static_cast<void>(dlpack);
#endif
  return nullptr;
}

// Whether a function of Python code has no parameter max_version, and would raise TypeError for it.
inline bool lacks_max_version(PyObject* function) noexcept {
  if (function == nullptr || !PyFunction_Check(function)) {
    return false;
  }
  auto const& code = *reinterpret_cast<PyCodeObject*>(PyFunction_GetCode(function));
#if PY_VERSION_HEX >= 0x030B0000
  PyObject* const variables = code.co_localsplusnames;
#else
  PyObject* const variables = code.co_varnames;
#endif
  bool has = (code.co_flags & CO_VARKEYWORDS) != 0;
  for (Py_ssize_t i = 0; i < code.co_argcount + code.co_kwonlyargcount; ++i) {  // all interned
    has = has || PyTuple_GET_ITEM(variables, i) == names::get().max_version;
  }
  return !has;
}

DLBRIDGE_COLD inline type_entry look_up_type(PyTypeObject* type) noexcept {
  type_entry fresh;
  fresh.type = type;
  ref dlpack = type_attribute(type, names::get().dlpack);  // assigns the version tag
  fresh.dlpack = dlpack.get();
  fresh.version_tag = tag_of(type);
  fresh.takes_self = fresh.dlpack != nullptr && has_type_attributes_only(type) &&
                     PyType_HasFeature(Py_TYPE(fresh.dlpack), Py_TPFLAGS_METHOD_DESCRIPTOR);
  fresh.legacy_only = lacks_max_version(fresh.dlpack);
  fresh.array_type = find_array_type(type, fresh.dlpack);
  fresh.tests.row = find_known_type(type);
  for (int i = 0; i < 2 && fresh.tests; ++i) {
    fresh.tests.readers[i] = find_reader(type, fresh.tests.row->tests[i]);
  }
  void const* const header = exchange_header_of(type);
  fresh.exchange = exchange_table::find(header);
  if (!uses_protocol_only()) {
    judge_table(fresh, header);
#if !defined(Py_GIL_DISABLED)  // which calls the table (docs/python.md)
    fresh.has_head = has_tensor_head(type);
#endif
  }
#if defined(Py_GIL_DISABLED)
  static_cast<void>(dlpack.release());
#endif
  return fresh;
}

// Whether an object whose type lets it have attributes has, or may have, a __dlpack__ among them.
// An exception of a key of its dict stays pending.
DLBRIDGE_NOINLINE inline bool may_have_own_dlpack(PyObject* object) noexcept {
  PyObject* const* const dict = api<_PyObject_GetDictPtr>(object);
  if (dict == nullptr) {  // there is no memory for it
    return true;
  }
  ref const own = *dict != nullptr ? dict_item(*dict, names::get().dlpack) : ref();
  return own || PyErr_Occurred() != nullptr;
}

/// Whether the `__dlpack__` of an object exports what its fields state: that of an ndarray, or of
/// an object of a derived class without a `__dlpack__` of its own, such as a numpy.memmap.
/// @param type the entry of its type.
/// @return false with an exception pending after one of a key.
/// @pre no exception is pending.
/// @par Thread and GIL
/// The caller holds the GIL. Python code may run.
inline bool exports_fields(type_entry const& type, PyObject* object) noexcept {
  return type.is_ndarray() ||
         (type.array_type != nullptr && (type.takes_self || !may_have_own_dlpack(object)));
}
}  // namespace detail

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
