// shared_library: opens a shared library, preferably one that the process has already loaded, and
// looks up its symbols.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstring>

#include <dlbridge/abi.hpp>
#include <dlbridge/error.hpp>

#if defined(_WIN32)
#if !defined(WIN32_LEAN_AND_MEAN)
#define WIN32_LEAN_AND_MEAN
#endif
#if !defined(NOMINMAX)
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <dlfcn.h>
#if defined(__linux__)
#include <link.h>
#endif
#endif

DLBRIDGE_BEGIN_LOCAL_NAMESPACE

/// The address of a function whose type only the caller has. The caller casts it before the call.
using any_function = void (*)();

/// The file names of one library. All texts are static.
struct library_names {
  char const* prefix;        // beginning of the file name of a copy that is already loaded
  char const* const* files;  // files to load, in order of preference
  std::size_t count;         // number of files
  char const* advice;        // advice to the reader of the error if no file can be loaded
};

/// A library that is loaded into this process. It is never unloaded: a device runtime has threads
/// and exit handlers, which would run code of an unloaded library.
class shared_library {
 public:
  shared_library() noexcept = default;

  explicit operator bool() const noexcept { return handle_ != nullptr; }
  /// The name of the file that was loaded, or the prefix if the library was already loaded.
  char const* name() const noexcept { return name_; }

  /// Looks up a symbol by its exact name.
  /// @return its address, or null.
  any_function try_find(char const* symbol) const noexcept;

  /// Opens the copy that this process has already loaded, otherwise the first file that the
  /// loader's search finds and loads.
  /// @return a report: runtime_missing, with the names of all files and the loader's reason.
  static report try_open(library_names const& names, shared_library& out) noexcept;
  /// Whether any code of this process has loaded the library.
  static bool is_loaded(library_names const& names) noexcept;
  /// Whether this process has loaded several copies of the library, which do not share their
  /// objects. Known on Linux only.
  bool has_several_copies() const noexcept;

 private:
  void* handle_ = nullptr;
  char const* name_ = "";
  char const* prefix_ = nullptr;
};

namespace detail {
using loader_text = bounded_text<200>;

#if defined(_WIN32)

// Unverified: follows Microsoft's documentation, and has not yet run on Windows. Its loader has no
// search by prefix, so load_library looks up loaded modules by file name.
inline void* find_loaded_library(char const*) noexcept { return nullptr; }
inline int count_loaded_libraries(char const*) noexcept { return 0; }
inline void* load_library(char const* name, loader_text& reason) noexcept {
  // Drivers are installed in System32. The search excludes the current directory.
  void* handle = ::GetModuleHandleA(name);
  if (handle == nullptr) {
    handle = ::LoadLibraryExA(name, nullptr, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
  }
  if (handle == nullptr) {
    reason.append(name).append(": Windows error ").append_unsigned(::GetLastError());
  }
  return handle;
}
inline any_function find_symbol(void* handle, char const* symbol) noexcept {
  return reinterpret_cast<any_function>(::GetProcAddress(static_cast<HMODULE>(handle), symbol));
}

#else

#if defined(__linux__)
struct library_search {
  char const* prefix;
  int count;        // of the libraries whose file names begin with prefix
  char path[4096];  // of the first of them
};

inline library_search find_loaded_libraries(char const* prefix) noexcept {
  library_search search{prefix, 0, {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* each, std::size_t, void* data) noexcept {
        auto* const search_data = static_cast<library_search*>(data);
        char const* const path = each->dlpi_name != nullptr ? each->dlpi_name : "";
        char const* const slash = std::strrchr(path, '/');
        char const* const file = slash != nullptr ? slash + 1 : path;
        std::size_t const length = std::strlen(path);
        if (std::strncmp(file, search_data->prefix, std::strlen(search_data->prefix)) == 0 &&
            length < sizeof search_data->path && ++search_data->count == 1) {
          std::memcpy(search_data->path, path, length + 1);
        }
        return 0;
      },
      &search);
  return search;
}

// Another package may have loaded a copy with a different file name and folder, as torch does with
// libamdhip64. A second copy of the library would not recognise the streams of the first.
inline void* find_loaded_library(char const* prefix) noexcept {
  library_search const search = find_loaded_libraries(prefix);
  // The loader's list is locked during the iteration, so dlopen must follow it.
  return search.count != 0 ? ::dlopen(search.path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) : nullptr;
}
inline int count_loaded_libraries(char const* prefix) noexcept {
  return find_loaded_libraries(prefix).count;
}
#else
inline void* find_loaded_library(char const*) noexcept { return nullptr; }
inline int count_loaded_libraries(char const*) noexcept { return 0; }
#endif

inline void* load_library(char const* name, loader_text& reason) noexcept {
  void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    char const* const text = ::dlerror();
    reason.append(text != nullptr ? text : name);
  }
  return handle;
}
inline any_function find_symbol(void* handle, char const* symbol) noexcept {
  return reinterpret_cast<any_function>(::dlsym(handle, symbol));
}

#endif
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/runtime/detail/library.ipp>
#endif
