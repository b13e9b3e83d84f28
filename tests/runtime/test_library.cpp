// SPDX-License-Identifier: BSD-3-Clause
// library.hpp: a loaded library is preferred, whatever the name of its file; errors name the files
// that are missing.
#include <dlbridge/runtime/detail/library.hpp>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

namespace {

using dlbridge::errc;
using dlbridge::library_names;
using dlbridge::message;
using dlbridge::report;
using dlbridge::shared_library;

template <std::size_t Count>
report try_open(char const* prefix, char const* const (&files)[Count], shared_library& out) {
  return shared_library::try_open(library_names{prefix, files, Count, "Install it"}, out);
}

int answer_of(shared_library const& library) {
  auto const function = library.try_find("probe_answer");
  return function != nullptr ? reinterpret_cast<int (*)()>(function)() : -1;
}

TEST(Library, OpensTheFirstFileThatCanBeLoaded) {
  shared_library library;
  EXPECT_FALSE(library);
  EXPECT_EQ(library.try_find("probe_answer"), nullptr);
  ASSERT_TRUE(try_open("libdlbridge_nowhere", {"libdlbridge_nowhere.so.2", PROBE}, library).ok());
  EXPECT_TRUE(library);
  EXPECT_STREQ(library.name(), PROBE);
  EXPECT_EQ(answer_of(library), 42);
  EXPECT_NE(dlopen(PROBE, RTLD_NOW | RTLD_NOLOAD), nullptr) << "the library is never unloaded";
}

TEST(Library, PrefersALoadedLibraryWithTheSamePrefix) {
  ASSERT_NE(dlopen(PROBE, RTLD_NOW | RTLD_LOCAL), nullptr);
  shared_library library;
  ASSERT_TRUE(try_open("libdlbridge_probe", {"libm.so.6"}, library).ok());
  EXPECT_EQ(answer_of(library), 42);
  EXPECT_STREQ(library.name(), "libdlbridge_probe");
  ASSERT_TRUE(try_open("dlbridge_probe", {"libm.so.6"}, library).ok());
  EXPECT_EQ(answer_of(library), -1) << "a prefix matches only the beginning of the file name";
}

TEST(Library, FindsSymbolsByExactName) {
  shared_library library;
  ASSERT_TRUE(try_open("libm.so", {"libm.so.6"}, library).ok());
  EXPECT_NE(library.try_find("cos"), nullptr);
  EXPECT_EQ(library.try_find("cos_v2"), nullptr);
}

TEST(Library, ErrorNamesEveryMissingFile) {
  shared_library library;
  report const status =
      try_open("libdlbridge_no", {"libdlbridge_no.so.7", "libdlbridge_no.so"}, library);
#if defined(__GLIBC__)
  char const* const reason = "libdlbridge_no.so.7: cannot open shared object file";
#else  // musl
  char const* const reason = "Error loading shared library libdlbridge_no.so.7";
#endif
  EXPECT_EQ(message(status).c_str(),
            "device runtime not found: expected one of the files libdlbridge_no.so.7, "
            "libdlbridge_no.so; got " +
                std::string(reason) + ": No such file or directory. Install it");
  EXPECT_TRUE(status.has(errc::runtime_missing));
  EXPECT_FALSE(library);
}

TEST(Library, ErrorStatesWhyAnExistingFileCannotBeLoaded) {
  shared_library library;
  report const status = try_open("libdlbridge_no", {"libdlbridge_no.so.7", BROKEN}, library);
  std::string const text = message(status).c_str();
#if defined(__GLIBC__)
  std::string const reason = std::string("; got ") + BROKEN + ": invalid ELF header";
#else  // musl
  std::string const reason =
      std::string("; got Error loading shared library ") + BROKEN + ": Exec format error";
#endif
  EXPECT_NE(text.find(reason), std::string::npos) << text;
}

}  // namespace
