// type_cache: caches what a Python type offers to a consumer.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <dlbridge/abi.hpp>
#include <dlbridge/python/import/detail/known_types.hpp>
#include <dlbridge/python/import/detail/type_entry.hpp>
#include <dlbridge/python/ref.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace python {
/// Entries by type. The state of an entry tells whether the type has been modified, or another type
/// has taken its address; types without a known state are looked up each time. Objects
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
  DLBRIDGE_INLINE static type_entry const* find([[maybe_unused]] PyTypeObject* type) noexcept;

  /// Stores the export path of a type.
  /// @param function a reference that the cache holds for ever, as results may use it meanwhile.
  DLBRIDGE_COLD static void set_export_path(PyTypeObject* type, library_row const* library,
                                            ref function) noexcept;

 private:
  static constexpr std::size_t size = 256;  // zero pages, of which the used ones take memory
  static constexpr std::size_t window = 4;  // the slots in which a type may be

  DLBRIDGE_LOCAL static type_entry* slots_of(PyTypeObject* type) noexcept;

  // The slot with the entry of a type, or else the one for it.
  static type_entry& slot(PyTypeObject* type) noexcept;

  static type_entry const* find_further(PyTypeObject* type) noexcept;

  // The entry of a type, which is looked up unless it is valid.
  DLBRIDGE_LOCAL static type_entry const& renew(PyTypeObject* type) noexcept;

  static bool is_valid(type_entry const& entry, PyTypeObject* type) noexcept {
    return entry.type == type && detail::is_in(type, entry.state);
  }
};

namespace detail {
// As pass_tests, where the type has properties. The type is looked up now, as Python code that has
// run may have changed it.
bool may_import(PyObject* object, import_path path) noexcept;

// Whether a function may write to an object: not where its library would record what it does for a
// gradient. Returns false with an exception set.
bool may_write(PyObject* object) noexcept;
}  // namespace detail
}  // namespace python
DLBRIDGE_END_NAMESPACE

#include <dlbridge/python/import/detail/type_cache.inl>
#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/python/import/detail/type_cache.ipp>
#endif
