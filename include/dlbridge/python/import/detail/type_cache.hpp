// What a Python type offers to a consumer, looked up once per type and version of it.
// layer: import · IN: before anything is asked
#pragma once

#include <cstdint>
#include <cstring>

#include <dlbridge/abi.hpp>
#include <dlbridge/exchange.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace python {

/// The answers for one type. References are borrowed from the type, and hold while it is neither
/// modified nor gone: whoever lets Python code run meanwhile holds dlpack.
struct type_entry {
  PyTypeObject* type = nullptr;
  unsigned version_tag = 0;    // 0: do not trust this entry
  PyObject* dlpack = nullptr;  // __dlpack__ as the type has it, or null
  bool takes_self = false;     // it is called with the object first, and needs no binding
  bool legacy_only = false;    // no object of it takes max_version
  bool host_only = false;      // its memory can always be read by the CPU: numpy.ndarray
  exchange_table exchange;     // its exchange table, if it has one of our major version
};

/// Entries by type. A type that is modified, or another one at the same address, has another
/// version tag; types without a valid tag are looked up each time. Nothing is kept per object.
/// thread and GIL: held. Free-threaded builds look up each time.
class type_cache {
 public:
  /// The entry of a type that is known and unchanged, or null: for who lets no Python code run
  /// while looking at it.
  static type_entry const* peek(PyTypeObject* type) noexcept {
    type_entry const& kept = slot(type);
    bool const holds =
        kept.type == type && kept.version_tag != 0 && kept.version_tag == tag_of(type);
    return holds ? &kept : nullptr;
  }

  /// A copy, since Python code that runs later may replace the entry.
  DLBRIDGE_LOCAL static type_entry find(PyTypeObject* type) noexcept {
    type_entry& kept = slot(type);
    if (kept.type == type && kept.version_tag != 0 && kept.version_tag == tag_of(type)) {
      return kept;
    }
    type_entry const fresh = look_up(type);
#if !defined(Py_GIL_DISABLED)
    kept = fresh;
#endif
    return fresh;
  }

  /// Remembers that an object of the type raised TypeError for max_version and did well without.
  /// Only where that is the signature's doing: a proxy that passes keywords on answers for what is
  /// behind it, and the next one may know the keyword.
  DLBRIDGE_LOCAL static void set_legacy_only(type_entry const& known) noexcept {
    type_entry& kept = slot(known.type);
    if (kept.type == known.type && kept.version_tag == known.version_tag) {
      kept.legacy_only = lacks_max_version(known.dlpack);
    }
  }

 private:
  static constexpr std::size_t size = 64;

  DLBRIDGE_LOCAL static type_entry& slot(PyTypeObject* type) noexcept {
    static type_entry entries[size];
    return entries[(reinterpret_cast<std::uintptr_t>(type) >> 5) % size];
  }

  static unsigned tag_of(PyTypeObject* type) noexcept {
#if PY_VERSION_HEX < 0x030A0000
    if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) {
      return 0;
    }
#endif
    return type->tp_version_tag;
  }

  DLBRIDGE_COLD static bool lacks_max_version(PyObject* function) noexcept {
    if (function == nullptr || Py_TYPE(function) == &PyMethodDescr_Type) {
      return function != nullptr;
    }
    if (!PyFunction_Check(function)) {
      return false;
    }
    PyObject* const code = PyFunction_GetCode(function);
    ref const variables = ref::steal(PyObject_GetAttrString(code, "co_varnames"));
    int const has = variables ? PySequence_Contains(variables.get(), names::get().max_version) : -1;
    PyErr_Clear();
    return has == 0 && (reinterpret_cast<PyCodeObject*>(code)->co_flags & CO_VARKEYWORDS) == 0;
  }

  // A capsule under the name of DLPack 1.3, or a capsule or an address under that of 1.2
  // (spec 5.1). What does not say where a table is, is none.
  static void const* exchange_header_of(PyTypeObject* type) noexcept {
    names const& n = names::get();
    PyObject* found = _PyType_Lookup(type, n.exchange_table);
    found = found != nullptr ? found : _PyType_Lookup(type, n.exchange_table_1_2);
    if (found == nullptr) {
      return nullptr;
    }
    void const* header = nullptr;
    if (PyCapsule_IsValid(found, exchange_capsule_name()) != 0) {
      header = PyCapsule_GetPointer(found, exchange_capsule_name());
    } else if (PyLong_CheckExact(found)) {
      header = PyLong_AsVoidPtr(found);
      PyErr_Clear();
    }
    return header;
  }

  static type_entry look_up(PyTypeObject* type) noexcept {
    type_entry fresh;
    fresh.type = type;
    fresh.dlpack = _PyType_Lookup(type, names::get().dlpack);  // gives the type its version tag
    fresh.version_tag = tag_of(type);
    fresh.takes_self = fresh.dlpack != nullptr &&
                       PyType_HasFeature(Py_TYPE(fresh.dlpack), Py_TPFLAGS_METHOD_DESCRIPTOR);
    fresh.exchange = exchange_table::find(exchange_header_of(type));
    fresh.host_only = !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) &&
                      std::strcmp(type->tp_name, "numpy.ndarray") == 0;
    return fresh;
  }
};

namespace detail {
// The keywords of one call; null ones are left out.
struct call_keywords {
  PyObject* max_version = nullptr;
  PyObject* stream = nullptr;
  PyObject* dl_device = nullptr;
  PyObject* copy = nullptr;
};

DLBRIDGE_LOCAL inline PyObject* stated_version_object() noexcept {
  static PyObject* const made =
      Py_BuildValue("(II)", unsigned{stated_major}, unsigned{stated_minor});
  return made;
}

DLBRIDGE_LOCAL inline PyObject* only_max_version() noexcept {
  static PyObject* const made = PyTuple_Pack(1, names::get().max_version);
  return made;
}

// Calls producer.__dlpack__ with the keywords that are there. The caller holds type.dlpack.
inline ref call_dlpack(PyObject* producer, type_entry const& type,
                       call_keywords const& given) noexcept {
  if (type.takes_self && given.stream == nullptr && given.dl_device == nullptr &&
      given.copy == nullptr && given.max_version != nullptr) {  // as good as always
    PyObject* arguments[] = {nullptr, producer, given.max_version};
    return ref::steal(PyObject_Vectorcall(type.dlpack, arguments + 1,
                                          1 | PY_VECTORCALL_ARGUMENTS_OFFSET, only_max_version()));
  }
  names const& n = names::get();
  PyObject* const values[] = {given.max_version, given.stream, given.dl_device, given.copy};
  PyObject* const keys[] = {n.max_version, n.stream, n.dl_device, n.copy};
  PyObject* arguments[6] = {nullptr, producer};
  PyObject* used[4];
  Py_ssize_t count = 0;
  for (int i = 0; i < 4; ++i) {
    if (values[i] != nullptr) {
      arguments[2 + count] = values[i];
      used[count++] = keys[i];
    }
  }
  ref made;
  PyObject* keywords = nullptr;
  if (count == 1 && given.max_version != nullptr) {
    keywords = only_max_version();
  } else if (count > 0) {
    made = ref::steal(PyTuple_New(count));
    if (!made) {
      return ref();
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
      Py_INCREF(used[i]);
      PyTuple_SET_ITEM(made.get(), i, used[i]);
    }
    keywords = made.get();
  }
  if (!type.takes_self) {
    return ref::steal(PyObject_VectorcallMethod(n.dlpack, arguments + 1,
                                                1 | PY_VECTORCALL_ARGUMENTS_OFFSET, keywords));
  }
  return ref::steal(PyObject_Vectorcall(type.dlpack, arguments + 1,
                                        1 | PY_VECTORCALL_ARGUMENTS_OFFSET, keywords));
}
}  // namespace detail

}  // namespace python
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
