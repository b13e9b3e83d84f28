// The bodies of library.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/runtime/detail/library.hpp>

DLBRIDGE_BEGIN_LOCAL_NAMESPACE
namespace detail {
// Whether the loader's only reason is that the file does not exist. For a file that exists and
// cannot be loaded, for example because one of its dependencies is missing, the reason is more
// useful to the reader. The texts are those of glibc and of musl.
inline bool is_absence(char const* reason, char const* name) noexcept {
  constexpr char const* of_musl = "Error loading shared library ";
  bool const is_musl = std::strncmp(reason, of_musl, std::strlen(of_musl)) == 0;
  char const* const text = is_musl ? reason + std::strlen(of_musl) : reason;
  return std::strncmp(text, name, std::strlen(name)) == 0 &&
         std::strstr(text, is_musl ? "No such file" : "cannot open shared object file") != nullptr;
}
}  // namespace detail

DLBRIDGE_API any_function shared_library::try_find(char const* symbol) const noexcept {
  return handle_ == nullptr ? nullptr : detail::find_symbol(handle_, symbol);
}

DLBRIDGE_API bool shared_library::is_loaded(library_names const& names) noexcept {
  return detail::find_loaded_library(names.prefix) != nullptr;
}

DLBRIDGE_API bool shared_library::has_several_copies() const noexcept {
  return prefix_ != nullptr && detail::count_loaded_libraries(prefix_) > 1;
}

DLBRIDGE_API report shared_library::try_open(library_names const& names,
                                             shared_library& out) noexcept {
  out.prefix_ = names.prefix;
  if (void* const handle = detail::find_loaded_library(names.prefix)) {
    out.handle_ = handle;
    out.name_ = names.prefix;
    return report{};
  }
  report r =
      refusal(errc::runtime_missing, names.count > 1 ? "one of the files " : "", "", names.advice);
  detail::loader_text best_reason;
  for (std::size_t i = 0; i < names.count; ++i) {
    detail::loader_text reason;
    if (void* const handle = detail::load_library(names.files[i], reason)) {
      out.handle_ = handle;
      out.name_ = names.files[i];
      return report{};
    }
    r.expected.append(i == 0 ? "" : ", ").append(names.files[i]);
    if (best_reason.empty() || !detail::is_absence(reason.c_str(), names.files[i])) {
      best_reason = reason;
    }
  }
  r.got.append(best_reason.c_str());
  return r;
}

DLBRIDGE_END_NAMESPACE
