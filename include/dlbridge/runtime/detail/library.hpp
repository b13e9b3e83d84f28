// Finds a shared library, one already loaded first, looks symbols up in it, and never unloads it.
// layer: runtime · side road: to the device runtimes
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

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// A function of a type that only its caller knows; cast before it is called.
using any_function = void (*)();

/// What a library's file may be called. All texts are static.
struct library_names {
  char const* prefix;        // of the file, when somebody has loaded it under whatever name
  char const* const* files;  // to look for, the best first
  std::size_t count;         // of files
  char const* advice;        // what to do when there is none
};

/// A library that is loaded into this process. It stays loaded: a device runtime has threads and
/// exit handlers of its own, and none survives being unloaded.
class shared_library {
 public:
  shared_library() noexcept = default;

  explicit operator bool() const noexcept { return handle_ != nullptr; }
  /// The file, of those that were looked for, or the prefix of one that was loaded already.
  char const* name() const noexcept { return name_; }

  /// The symbol of exactly this name, or null.
  inline any_function try_find(char const* symbol) const noexcept;

  /// Takes what this process has loaded already, else the first file that can be loaded, as the
  /// loader's own search finds it.
  /// reports: runtime_missing, with every file looked for and the loader's reason.
  static inline report try_open(library_names const& names, shared_library& out) noexcept;
  /// Whether this process has loaded it, be it by somebody else.
  static inline bool is_loaded(library_names const& names) noexcept;

 private:
  void* handle_ = nullptr;
  char const* name_ = "";
};

namespace detail {

using loader_text = bounded_text<200>;

#if defined(_WIN32)

// Unverified: written after the documentation, and not yet run on Windows. Its loader names no
// prefix; the files are asked for by name.
inline void* find_loaded_library(char const*) noexcept { return nullptr; }
inline void* load_library(char const* name, loader_text& why) noexcept {
  // Drivers live in System32; the current directory is nowhere to look for one.
  void* handle = ::GetModuleHandleA(name);
  if (handle == nullptr) {
    handle = ::LoadLibraryExA(name, nullptr, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
  }
  if (handle == nullptr) {
    why.append(name).append(": Windows error ").append_unsigned(::GetLastError());
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
  char path[4096];
};

// A library of another package may have a name and a folder of its own, such as torch's copy of
// libamdhip64. A second one beside it would know none of its streams.
inline void* find_loaded_library(char const* prefix) noexcept {
  library_search search{prefix, {}};
  int const found = ::dl_iterate_phdr(
      [](dl_phdr_info* each, std::size_t, void* data) noexcept {
        auto* const wanted = static_cast<library_search*>(data);
        char const* const path = each->dlpi_name != nullptr ? each->dlpi_name : "";
        char const* const slash = std::strrchr(path, '/');
        char const* const file = slash != nullptr ? slash + 1 : path;
        std::size_t const length = std::strlen(path);
        if (std::strncmp(file, wanted->prefix, std::strlen(wanted->prefix)) != 0 ||
            length >= sizeof wanted->path) {
          return 0;
        }
        std::memcpy(wanted->path, path, length + 1);
        return 1;
      },
      &search);
  // Opened only now: the loader's list is locked while it is walked.
  return found != 0 ? ::dlopen(search.path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) : nullptr;
}
#else
inline void* find_loaded_library(char const*) noexcept { return nullptr; }
#endif

inline void* load_library(char const* name, loader_text& why) noexcept {
  void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    char const* const text = ::dlerror();
    why.append(text != nullptr ? text : name);
  }
  return handle;
}
inline any_function find_symbol(void* handle, char const* symbol) noexcept {
  return reinterpret_cast<any_function>(::dlsym(handle, symbol));
}

#endif

// Whether the loader says no more than that there is no such file. A file that is there but lacks a
// library of its own is the better reason to show.
inline bool says_absent(char const* why, char const* name) noexcept {
  return std::strncmp(why, name, std::strlen(name)) == 0 &&
         std::strstr(why, "cannot open shared object file") != nullptr;
}

}  // namespace detail

inline any_function shared_library::try_find(char const* symbol) const noexcept {
  return handle_ == nullptr ? nullptr : detail::find_symbol(handle_, symbol);
}

inline bool shared_library::is_loaded(library_names const& names) noexcept {
  return detail::find_loaded_library(names.prefix) != nullptr;
}

inline report shared_library::try_open(library_names const& names, shared_library& out) noexcept {
  if (void* const handle = detail::find_loaded_library(names.prefix)) {
    out.handle_ = handle;
    out.name_ = names.prefix;
    return report{};
  }
  report r =
      refusal(errc::runtime_missing, names.count > 1 ? "one of the files " : "", "", names.advice);
  detail::loader_text shown;
  for (std::size_t i = 0; i < names.count; ++i) {
    detail::loader_text why;
    if (void* const handle = detail::load_library(names.files[i], why)) {
      out.handle_ = handle;
      out.name_ = names.files[i];
      return report{};
    }
    r.expected.append(i == 0 ? "" : ", ").append(names.files[i]);
    if (shown.empty() || !detail::says_absent(why.c_str(), names.files[i])) {
      shown = why;
    }
  }
  r.got.append(shown.c_str());
  return r;
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
