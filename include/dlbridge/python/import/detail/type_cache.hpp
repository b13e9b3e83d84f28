// type_cache: caches what a Python type offers to a consumer.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/exchange.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/detail/tensor_head.hpp>
#include <dlbridge/python/import/detail/property_tests.hpp>
#include <dlbridge/python/interpreter.hpp>

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

/// What one Python type offers. The references are borrowed from the type and valid until it is
/// modified or destroyed: a caller that lets Python code run meanwhile holds a reference to dlpack.
struct type_facts {
  PyTypeObject* type = nullptr;
  unsigned version_tag = 0;    // 0: the entry is not valid
  PyObject* dlpack = nullptr;  // the type's attribute __dlpack__, or null
  bool takes_self = false;     // dlpack is called with the object as first argument; false also
                               // where an object may have a __dlpack__ of its own
  bool legacy_only = false;    // the signature of dlpack has no max_version
  bool host_only = false;      // the memory is always host-accessible: numpy.ndarray
  exchange_table exchange{};   // the type's exchange table, if its major version is supported
  bool has_table = false;      // extensions use it for arguments: no __dlpack__ overrides it
  bool defines_table = false;  // the type does not inherit it: from_dlpack uses it as well
  bool reads_fields = false;   // host_only, and its fields may be read without a call
  bool has_head = false;       // the objects are Tensors, which begin with a tensor_head
  // numpy.ndarray, if the type is derived from it and inherits its __dlpack__, which reads only the
  // fields: so may dlbridge, unless the object has a __dlpack__ of its own.
  PyTypeObject* array_base = nullptr;
  bool is_mostly_host = false;     // __dlpack__ is called before __dlpack_device__
  bool is_immutable = false;       // its objects are read-only, whatever their capsules state
  detail::property_tests tests{};  // of what the table exports although __dlpack__ refuses it
};

/// The facts of a type, and on free-threaded builds a reference to dlpack, as another thread may
/// modify the type at any time. It fills whole cache lines; a shift gives the address of a slot.
struct alignas(64) type_entry : type_facts {
#if defined(Py_GIL_DISABLED)
  type_entry() = default;
  explicit type_entry(type_facts const& facts) noexcept : type_facts(facts) {}
  type_facts const& facts() const noexcept { return *this; }
  ref kept{};  // empty where the facts are those of a stored entry
#endif
};

/// Entries by type. The version tag of an entry tells whether the type has been modified, or
/// another type has taken its address; types without a valid tag are looked up each time. Objects
/// are not cached. Functions named find search the cache alone; those named get also look a type
/// up. Pointers and references to entries are valid until Python code runs.
/// @par Thread and GIL
/// The caller holds the GIL. Free-threaded builds cache static types, such as numpy.ndarray, which
/// are never destroyed and which Python code cannot modify. They look up other types each time.
class type_cache {
 public:
  /// @return the valid entry of a type, or null.
  DLBRIDGE_INLINE static type_entry const* find(PyTypeObject* type) noexcept {
    type_entry const& first = *slots_of(type);
    return is_valid(first, type) ? &first : find_further(type);
  }

#if defined(Py_GIL_DISABLED)
  using storage = std::optional<type_entry>;
#else
  struct storage {};  // every entry is in the cache
#endif

  /// @param[out] uncached receives the entry of a type that is not cached.
  /// @return the entry of a type, valid as long as the storage lives.
  static type_entry const& get(PyTypeObject* type, storage& uncached) noexcept {
#if defined(Py_GIL_DISABLED)
    type_entry const* const cached = find_stored(type);
    return cached != nullptr ? *cached : uncached.emplace(get_copy(type));
#else
    static_cast<void>(uncached);
    type_entry const* const cached = find(type);
    return cached != nullptr ? *cached : renew(type);
#endif
  }

  /// @return the cached entry of a type; null for one that is not cached.
  static type_entry const* get_cached(PyTypeObject* type) noexcept {
#if defined(Py_GIL_DISABLED)
    static_cast<void>(type);
    return nullptr;
#else
    type_entry const* const cached = find(type);
    return cached != nullptr ? cached : get_renewed(type);
#endif
  }

  /// @return the entry of a type; a copy, as Python code that runs later may replace the entry.
  DLBRIDGE_LOCAL static type_entry get_copy(PyTypeObject* type) noexcept {
#if defined(Py_GIL_DISABLED)
    type_entry const* const cached = find_stored(type);
    return cached != nullptr ? type_entry(cached->facts()) : look_up_and_store(type);
#else
    return renew(type);
#endif
  }

  /// Records that `__dlpack__` of an object raised TypeError with max_version and returned without,
  /// where the signature explains it. A proxy that forwards any keywords is not recorded: another
  /// object of its type may forward to a producer that supports the keyword.
  /// @param called the entry of its type before these calls, which may have modified the type, or
  ///   given the object another type.
  /// @return false with an exception set that is not suppressible.
  DLBRIDGE_LOCAL static bool set_legacy_only(PyObject* producer,
                                             type_entry const& called) noexcept {
    PyTypeObject* const type = Py_TYPE(producer);
    if (!is_valid(called, type)) {
      return true;
    }
    ref const function = ref::borrow(called.dlpack);
    bool const is_legacy = lacks_max_version(function.get());
    if (!suppress_exception()) {
      return false;
    }
    type_entry& entry = slot(type);
    if (entry.type == type && entry.version_tag == called.version_tag) {
      entry.legacy_only = is_legacy;
    }
    return true;
  }

 private:
  static constexpr std::size_t size = 512;  // zero pages, of which the used ones take memory
  static constexpr std::size_t window = 4;  // the slots in which a type may be

  DLBRIDGE_LOCAL static type_entry* slots_of(PyTypeObject* type) noexcept {
    static type_entry entries[size + window - 1];
    return &entries[(reinterpret_cast<std::uintptr_t>(type) >> 5) % size];
  }

  // The slot with the entry of a type, or else the one for it.
  static type_entry& slot(PyTypeObject* type) noexcept {
    type_entry* const slots = slots_of(type);
    for (std::size_t i = 0; i < window; ++i) {
      if (slots[i].type == type || slots[i].type == nullptr) {
        return slots[i];
      }
    }
    return *slots;
  }

  DLBRIDGE_NOINLINE static type_entry const* find_further(PyTypeObject* type) noexcept {
    type_entry const& entry = slot(type);
    return is_valid(entry, type) ? &entry : nullptr;
  }

#if !defined(Py_GIL_DISABLED)
  // The entry of a type, which is looked up unless it is valid.
  DLBRIDGE_LOCAL DLBRIDGE_NOINLINE static type_entry const& renew(PyTypeObject* type) noexcept {
    type_entry& entry = slot(type);
    if (!is_valid(entry, type)) {
      type_entry const fresh = look_up(type);  // Python code may run, and replace the entry
      entry = fresh;
    }
    return entry;
  }

  DLBRIDGE_COLD static type_entry const* get_renewed(PyTypeObject* type) noexcept {
    type_entry const& entry = renew(type);
    return is_valid(entry, type) ? &entry : nullptr;
  }
#endif

  static bool is_valid(type_entry const& entry, PyTypeObject* type) noexcept {
    return entry.type == type && entry.version_tag != 0 && entry.version_tag == tag_of(type);
  }

#if defined(Py_GIL_DISABLED)
  using atomic_slot = std::atomic<type_entry const*>;

  // The slot with the entry of a static type, or the first empty one, or null.
  DLBRIDGE_LOCAL static atomic_slot* atomic_slot_of(PyTypeObject* type) noexcept {
    static atomic_slot entries[size + window - 1];
    atomic_slot* const slots = &entries[(reinterpret_cast<std::uintptr_t>(type) >> 5) % size];
    for (std::size_t i = 0; i < window; ++i) {
      type_entry const* const entry = slots[i].load(std::memory_order_acquire);
      if (entry == nullptr || entry->type == type) {
        return &slots[i];
      }
    }
    return nullptr;
  }

  // The entry of a static type, which is valid until the process ends, or null.
  static type_entry const* find_stored(PyTypeObject* type) noexcept {
    atomic_slot const* const slot = atomic_slot_of(type);
    type_entry const* const entry = slot != nullptr ? slot->load() : nullptr;
    return entry != nullptr && is_valid(*entry, type) ? entry : nullptr;
  }

  // A stored entry has a reference to dlpack for ever, which its copies need not count: threads
  // that count the references of one object wait for one another.
  DLBRIDGE_COLD static type_entry look_up_and_store(PyTypeObject* type) noexcept {
    atomic_slot* const slot =
        PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) ? nullptr : atomic_slot_of(type);
    if (slot == nullptr) {
      return look_up(type);
    }
    static_cast<void>(type_attribute(type, names::get().dlpack));  // assigns the version tag
    unsigned const tag = tag_of(type);
    type_entry fresh = look_up(type);
    std::unique_ptr<type_entry> entry(new (std::nothrow) type_entry(fresh.facts()));
    ref reference = ref::borrow(fresh.dlpack);
    type_entry const* none = nullptr;
    if (entry != nullptr && tag != 0 && tag == fresh.version_tag &&  // not modified meanwhile
        slot->compare_exchange_strong(none, entry.get())) {
      static_cast<void>(entry.release());
      static_cast<void>(reference.release());
    }
    return fresh;
  }
#endif

  static unsigned tag_of(PyTypeObject* type) noexcept {
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

  // An exception may be pending.
  DLBRIDGE_COLD static bool lacks_max_version(PyObject* function) noexcept {
    if (function == nullptr || Py_TYPE(function) == &PyMethodDescr_Type) {
      return function != nullptr;
    }
    if (!PyFunction_Check(function)) {
      return false;
    }
    PyObject* const code = PyFunction_GetCode(function);
    ref const variables = ref::steal(api<PyObject_GetAttrString>(code, "co_varnames"));
    int const has =
        variables ? api<PySequence_Contains>(variables.get(), names::get().max_version) : -1;
    return has == 0 && (reinterpret_cast<PyCodeObject*>(code)->co_flags & CO_VARKEYWORDS) == 0;
  }

  // The table's address, or null. DLPack 1.3 stores a capsule under one attribute name, DLPack 1.2
  // a capsule or an int under another (spec 5.1). An int under the newer name is no address.
  DLBRIDGE_COLD static void const* exchange_header_of(PyTypeObject* type) noexcept {
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
  // The base of a type, if it has the same table; otherwise empty.
  static ref base_with_table(PyTypeObject* type, void const* header) noexcept {
    ref base = base_of(type);
    auto* const from = reinterpret_cast<PyTypeObject*>(base.get());
    return base && exchange_header_of(from) == header ? std::move(base) : ref();
  }
  // Whether a type inherits the table of a class whose __dlpack__ it overrides.
  static bool overrides_table(PyTypeObject* type, void const* header, PyObject* dlpack) noexcept {
    ref const base = base_with_table(type, header);
    auto* const from = reinterpret_cast<PyTypeObject*>(base.get());
    return base && (type_attribute(from, names::get().dlpack).get() != dlpack ||
                    overrides_table(from, header, dlpack));
  }
  static void const* table_in(PyObject* capsule) noexcept {
    return PyCapsule_IsValid(capsule, exchange_capsule_name()) != 0
               ? api<PyCapsule_GetPointer>(capsule, exchange_capsule_name())
               : nullptr;
  }

  // Whether no object of a type has attributes of its own.
  static bool has_type_attributes_only(PyTypeObject* type) noexcept {
#if PY_VERSION_HEX >= 0x030C0000
    if (PyType_HasFeature(type, Py_TPFLAGS_MANAGED_DICT)) {
      return false;
    }
#endif
    return type->tp_dictoffset == 0 && type->tp_getattro == &PyObject_GenericGetAttr;
  }

  static bool is_ndarray(PyTypeObject* type) noexcept {
    return !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) &&
           std::strcmp(type->tp_name, "numpy.ndarray") == 0;
  }

  // numpy.ndarray, if it is a base of the type, whose attribute __dlpack__ is that of the ndarray.
  // Null for numpy.ndarray itself, and without the GIL, where another thread may give the object a
  // __dlpack__ meanwhile.
  static PyTypeObject* find_array_base([[maybe_unused]] PyTypeObject* type,
                                       [[maybe_unused]] PyObject* dlpack) noexcept {
#if defined(Py_GIL_DISABLED)
    return nullptr;
#else
    if (type->tp_getattro != &PyObject_GenericGetAttr) {
      return nullptr;
    }
    PyTypeObject* base = type->tp_base;
    while (base != nullptr && !is_ndarray(base)) {
      base = base->tp_base;
    }
    bool const inherits = base != nullptr && dlpack != nullptr &&
                          type_attribute(base, names::get().dlpack).get() == dlpack;
    return inherits ? base : nullptr;
#endif
  }

  DLBRIDGE_COLD static type_entry look_up(PyTypeObject* type) noexcept {
    type_entry fresh;
    fresh.type = type;
    ref dlpack = type_attribute(type, names::get().dlpack);  // assigns the version tag
    fresh.dlpack = dlpack.get();
    fresh.version_tag = tag_of(type);
    fresh.takes_self = fresh.dlpack != nullptr && has_type_attributes_only(type) &&
                       PyType_HasFeature(Py_TYPE(fresh.dlpack), Py_TPFLAGS_METHOD_DESCRIPTOR);
    fresh.host_only = is_ndarray(type);
    ref const classes = classes_of(type);
    if (detail::known_type const* const known = detail::find_known_type(classes)) {
      fresh.is_mostly_host = true;
      fresh.is_immutable = known->is_immutable;
    }
    fresh.tests = detail::find_property_tests(type, classes);
    void const* const header = exchange_header_of(type);
    fresh.exchange = exchange_table::find(header);
    if (!detail::uses_protocol_only()) {
      fresh.has_table = fresh.exchange && !overrides_table(type, header, fresh.dlpack);
      fresh.defines_table =
          fresh.has_table && fresh.dlpack != Py_None && !base_with_table(type, header);
      fresh.reads_fields = fresh.host_only;
#if !defined(Py_GIL_DISABLED)  // where each call looks the type up, a call of the table costs less
      fresh.has_head = detail::has_tensor_head(type);
#endif
    }
    fresh.array_base = find_array_base(type, fresh.dlpack);
#if defined(Py_GIL_DISABLED)
    fresh.kept = std::move(dlpack);
#endif
    return fresh;
  }
};

namespace detail {
// Tests the properties of an object, if its type has any. The type is looked up now, as Python
// code that has run may have changed it.
DLBRIDGE_NOINLINE inline test_outcome run_tests(PyObject* object, import_path purpose) noexcept {
  type_cache::storage uncached;
  property_tests const tests = type_cache::get(Py_TYPE(object), uncached).tests;
  return tests ? run_tests(tests, object, purpose) : test_outcome::table;
}

// Whether a function may write to an object: not where its library would record what it does for a
// gradient. Returns false with an exception set.
DLBRIDGE_NOINLINE inline bool may_write(PyObject* object) noexcept {
  type_cache::storage uncached;
  property_tests const tests = type_cache::get(Py_TYPE(object), uncached).tests;
  return !tests || !is_recorded(tests, object);
}
}  // namespace detail

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
