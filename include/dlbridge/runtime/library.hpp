// Finds a shared library, one already loaded first, looks symbols up in it, and never unloads it.
// floor 2 · side road: to the device runtimes
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
#endif

namespace dlbridge {
inline namespace DLBRIDGE_ABI {

/// A function of a type that only its caller knows; cast before it is called.
using any_function = void (*)();

/// A library that is loaded into this process, under the name it was found by. It stays loaded: a
/// device runtime has threads and exit handlers of its own, and none survives being unloaded.
class shared_library {
 public:
  shared_library() noexcept = default;

  explicit operator bool() const noexcept { return handle_ != nullptr; }
  /// The name it was found by, of those that were looked for; null before.
  char const* name() const noexcept { return name_; }

  /// The symbol of exactly this name, or null.
  inline any_function try_find(char const* symbol) const noexcept;

  /// Takes the first of names that this process has loaded already, else the first that can be
  /// loaded, as the loader's own search finds it. names and their texts are static.
  /// reports: runtime_missing, with every name and the loader's reason.
  template <std::size_t Count>
  static report try_open(char const* const (&names)[Count], char const* advice,
                         shared_library& out) noexcept;

 private:
  void* handle_ = nullptr;
  char const* name_ = nullptr;
};

namespace detail {

using loader_text = bounded_text<200>;

#if defined(_WIN32)

// Unverified: written after the documentation, and not yet run on Windows.
inline void* find_loaded_library(char const* name) noexcept { return ::GetModuleHandleA(name); }
inline void* load_library(char const* name, loader_text& why) noexcept {
  // Drivers live in System32; the current directory is nowhere to look for one.
  void* const handle = ::LoadLibraryExA(name, nullptr, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
  if (handle == nullptr) {
    why.append(name).append(": Windows error ").append_unsigned(::GetLastError());
  }
  return handle;
}
inline any_function find_symbol(void* handle, char const* symbol) noexcept {
  return reinterpret_cast<any_function>(::GetProcAddress(static_cast<HMODULE>(handle), symbol));
}

#else

inline void* find_loaded_library(char const* name) noexcept {
#if defined(RTLD_NOLOAD)
  return ::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
#else
  static_cast<void>(name);
  return nullptr;
#endif
}
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

template <std::size_t Count>
report shared_library::try_open(char const* const (&names)[Count], char const* advice,
                                shared_library& out) noexcept {
  for (char const* name : names) {
    if (void* const handle = detail::find_loaded_library(name)) {
      out.handle_ = handle;
      out.name_ = name;
      return report{};
    }
  }
  report r = refusal(errc::runtime_missing, Count > 1 ? "one of " : "", "", advice);
  detail::loader_text shown;
  for (std::size_t i = 0; i < Count; ++i) {
    detail::loader_text why;
    if (void* const handle = detail::load_library(names[i], why)) {
      out.handle_ = handle;
      out.name_ = names[i];
      return report{};
    }
    r.expected.append(i == 0 ? "" : ", ").append(names[i]);
    if (shown.empty() || !detail::says_absent(why.c_str(), names[i])) {
      shown = why;
    }
  }
  r.got.append(shown.c_str());
  return r;
}

}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
