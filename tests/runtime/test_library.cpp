// library: one that is loaded already comes first, whatever its file is called; what is missing is
// named.
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
  auto const found = library.try_find("probe_answer");
  return found != nullptr ? reinterpret_cast<int (*)()>(found)() : -1;
}

TEST(Library, ComesFromTheFirstFileThatCanBeLoaded) {
  shared_library found;
  EXPECT_FALSE(found);
  EXPECT_EQ(found.try_find("probe_answer"), nullptr);
  ASSERT_TRUE(try_open("libdlbridge_nowhere", {"libdlbridge_nowhere.so.2", PROBE}, found).ok());
  EXPECT_TRUE(found);
  EXPECT_STREQ(found.name(), PROBE);
  EXPECT_EQ(answer_of(found), 42);
  EXPECT_NE(dlopen(PROBE, RTLD_NOW | RTLD_NOLOAD), nullptr) << "it stays loaded";
}

TEST(Library, IsTheOneThatIsLoadedAlreadyWhateverItsName) {
  ASSERT_NE(dlopen(PROBE, RTLD_NOW | RTLD_LOCAL), nullptr);
  shared_library found;
  ASSERT_TRUE(try_open("libdlbridge_probe", {"libm.so.6"}, found).ok());
  EXPECT_EQ(answer_of(found), 42);
  EXPECT_STREQ(found.name(), "libdlbridge_probe");
  ASSERT_TRUE(try_open("dlbridge_probe", {"libm.so.6"}, found).ok());
  EXPECT_EQ(answer_of(found), -1) << "a prefix begins the name of the file";
}

TEST(Library, HasSymbolsByTheirExactNames) {
  shared_library found;
  ASSERT_TRUE(try_open("libm.so", {"libm.so.6"}, found).ok());
  EXPECT_NE(found.try_find("cos"), nullptr);
  EXPECT_EQ(found.try_find("cos_v2"), nullptr);
}

TEST(Library, ThatIsMissingIsNamedByEveryFile) {
  shared_library found;
  report const why =
      try_open("libdlbridge_no", {"libdlbridge_no.so.7", "libdlbridge_no.so"}, found);
  EXPECT_STREQ(
      message(why).c_str(),
      "device runtime not found: expected one of the files libdlbridge_no.so.7, "
      "libdlbridge_no.so; got libdlbridge_no.so.7: cannot open shared object file: No such "
      "file or directory. Install it");
  EXPECT_TRUE(why.broke(errc::runtime_missing));
  EXPECT_FALSE(found);
}

TEST(Library, ThatIsThereButBrokenIsTheReasonShown) {
  shared_library found;
  report const why = try_open("libdlbridge_no", {"libdlbridge_no.so.7", BROKEN}, found);
  std::string const text = message(why).c_str();
  EXPECT_NE(text.find(std::string("; got ") + BROKEN + ": "), std::string::npos) << text;
  EXPECT_NE(text.find("invalid ELF header"), std::string::npos) << text;
}

}  // namespace
