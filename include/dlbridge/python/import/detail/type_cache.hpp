// type_cache: caches what a Python type offers to a consumer.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/import/detail/known_types.hpp>
#include <dlbridge/python/import/detail/type_entry.hpp>
#include <dlbridge/python/ref.hpp>

namespace dlbridge {
inline namespace DLBRIDGE_ABI DLBRIDGE_LOCAL {
namespace python {

/// Entries by type. The version tag of an entry tells whether the type has been modified, or
/// another type has taken its address; types without a valid tag are looked up each time. Objects
/// are not cached. A type that finds all its slots taken replaces another one, which is then looked
/// up again. References to entries are valid until Python code runs.
/// @par Thread and GIL
/// The caller holds the GIL. On free-threaded builds each thread has a cache of its own.
class type_cache {
 public:
  /// @return the entry of a type, which is looked up unless it is cached.
  static type_entry const& get(PyTypeObject* type) noexcept {
    type_entry const& first = *slots_of(type);
    return is_valid(first, type) ? first : renew(type);
  }

  /// @return a copy, as Python code that runs later may replace the entry.
  DLBRIDGE_LOCAL static type_entry get_copy(PyTypeObject* type) noexcept { return renew(type); }

  /// @return the entry of a type if it is cached, or null. Always null on free-threaded builds,
  ///   where other threads may change what the callers read of an object.
  DLBRIDGE_INLINE static type_entry const* find([[maybe_unused]] PyTypeObject* type) noexcept {
#if defined(Py_GIL_DISABLED)
    return nullptr;
#else
    type_entry const& first = *slots_of(type);
    return is_valid(first, type) ? &first : find_further(type);
#endif
  }

  /// Stores the export path of a type.
  /// @param function a reference that the cache holds for ever, as results may use it meanwhile.
  DLBRIDGE_COLD static void set_export_path(PyTypeObject* type, library_row const* library,
                                            ref function) noexcept {
    type_entry& entry = slot(type);
    if (is_valid(entry, type)) {
      entry.library = library;
      entry.from_dlpack = function.release();
      entry.has_export_path = true;
    }
  }

 private:
  static constexpr std::size_t size = 256;  // zero pages, of which the used ones take memory
  static constexpr std::size_t window = 4;  // the slots in which a type may be

  DLBRIDGE_LOCAL static type_entry* slots_of(PyTypeObject* type) noexcept {
#if defined(Py_GIL_DISABLED)
    thread_local
#else
    static
#endif
        type_entry entries[size + window - 1];
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

  // The entry of a type, which is looked up unless it is valid.
  DLBRIDGE_LOCAL DLBRIDGE_NOINLINE static type_entry const& renew(PyTypeObject* type) noexcept {
    type_entry& entry = slot(type);
    if (!is_valid(entry, type)) {
#if defined(Py_GIL_DISABLED)
      xdecref(std::exchange(entry.dlpack, nullptr));  // Python code may run
#endif
      entry = detail::look_up_type(type);
    }
    return entry;
  }

  static bool is_valid(type_entry const& entry, PyTypeObject* type) noexcept {
    return entry.type == type && entry.version_tag != 0 &&
           entry.version_tag == detail::tag_of(type);
  }
};

namespace detail {
// As pass_tests, where the type has properties. The type is looked up now, as Python code that has
// run may have changed it.
DLBRIDGE_NOINLINE inline bool may_import(PyObject* object, import_path path) noexcept {
  property_tests const tests = type_cache::get(Py_TYPE(object)).tests;
  return !tests || pass_tests(tests, object, path);
}

// Whether a function may write to an object: not where its library would record what it does for a
// gradient. Returns false with an exception set.
DLBRIDGE_NOINLINE inline bool may_write(PyObject* object) noexcept {
  property_tests const tests = type_cache::get(Py_TYPE(object)).tests;
  return !tests || !is_recorded(tests, object);
}
}  // namespace detail

}  // namespace python
}  // namespace DLBRIDGE_ABI DLBRIDGE_LOCAL
}  // namespace dlbridge
