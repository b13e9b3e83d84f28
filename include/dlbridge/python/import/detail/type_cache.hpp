// type_cache: caches what a Python type offers to a consumer.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/detail/keywords.hpp>
#include <dlbridge/python/detail/lookups.hpp>
#include <dlbridge/python/import/detail/known_types.hpp>
#include <dlbridge/python/import/detail/type_facts.hpp>
#include <dlbridge/python/interpreter.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

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

  /// @return the entry of a type; a copy, as Python code that runs later may replace the entry.
  DLBRIDGE_LOCAL static type_entry get_copy(PyTypeObject* type) noexcept {
#if defined(Py_GIL_DISABLED)
    type_entry const* const cached = find_stored(type);
    return cached != nullptr ? type_entry(cached->facts()) : look_up_and_store(type);
#else
    return renew(type);
#endif
  }

  /// Stores the export path of a type, unless the type is not cached.
  /// @param function a reference that the cache holds for ever, as results may use it meanwhile.
  DLBRIDGE_COLD static void set_export_path(PyTypeObject* type, library_row const* library,
                                            ref function) noexcept {
#if defined(Py_GIL_DISABLED)
    static_cast<void>(type);
    static_cast<void>(library);
    static_cast<void>(function);
#else
    type_entry& entry = slot(type);
    if (is_valid(entry, type)) {
      entry.library = library;
      entry.from_dlpack = function.release();
      entry.has_export_path = true;
    }
#endif
  }

 private:
  static constexpr std::size_t size = 64;
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
      type_entry const fresh =
          detail::look_up_type(type);  // Python code may run, and replace the entry
      entry = fresh;
    }
    return entry;
  }

#endif

  static bool is_valid(type_entry const& entry, PyTypeObject* type) noexcept {
    return entry.type == type && entry.version_tag != 0 &&
           entry.version_tag == detail::tag_of(type);
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
      return detail::look_up_type(type);
    }
    static_cast<void>(type_attribute(type, names::get().dlpack));  // assigns the version tag
    unsigned const tag = detail::tag_of(type);
    type_entry fresh = detail::look_up_type(type);
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
};

namespace detail {
// As pass_tests, where the type has properties. The type is looked up now, as Python code that has
// run may have changed it.
DLBRIDGE_NOINLINE inline bool may_import(PyObject* object, import_path path) noexcept {
  type_cache::storage uncached;
  property_tests const tests = type_cache::get(Py_TYPE(object), uncached).tests;
  return !tests || pass_tests(tests, object, path);
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
