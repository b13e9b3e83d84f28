// SPDX-License-Identifier: BSD-3-Clause
// exchange_table.hpp: exchange_table, tested with tables that this file defines.
#include <dlbridge/exchange_table.hpp>

#if DLBRIDGE_DLPACK_AT_LEAST(2)

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "foreign.hpp"

namespace {

using dlbridge::device;
using dlbridge::errc;
using dlbridge::exchange_table;
using dlbridge::managed_tensor;
using dlbridge::report;
using dlbridge::stream_ref;

static_assert(std::is_trivially_copyable_v<exchange_table>);
static_assert(sizeof(exchange_table) == sizeof(void*));
static_assert(!std::is_convertible_v<DLPackExchangeAPI*, exchange_table>);

// An object of a library with a table. It owns a tensor of the plain-C producer. The functions of
// the table fail for it when `fails` is set.
struct object {
  foreign_ptr foreign = make_foreign();
  bool fails = false;
};
object* object_at(void* py_object) { return static_cast<object*>(py_object); }

// The result of the library's next allocation: a tensor, or an error.
struct allocator {
  DLManagedTensorVersioned* tensor = nullptr;
  char const* kind = nullptr;
  char const* text = nullptr;
  int code = -1;
} heap;

int allocate(DLTensor*, DLManagedTensorVersioned** out, void* context,
             void (*set_error)(void*, char const*, char const*)) {
  *out = heap.tensor;
  if (heap.kind != nullptr || heap.text != nullptr) {
    set_error(context, heap.kind, heap.text);
  }
  return heap.code;
}

int export_object(void* py_object, DLManagedTensorVersioned** out) {
  if (object_at(py_object)->fails) {
    return -1;
  }
  *out = foreign_versioned(object_at(py_object)->foreign.get());
  return 0;
}

// Owns the last imported tensor, as the library with the table does.
struct importer {
  DLManagedTensorVersioned* tensor = nullptr;
  bool fails = false;
} library;

int import_object(DLManagedTensorVersioned* tensor, void** out_py_object) {
  if (library.fails) {
    return -1;
  }
  library.tensor = tensor;
  *out_py_object = &library;
  return 0;
}

int lend_object(void* py_object, DLTensor* out) {
  if (object_at(py_object)->fails) {
    return -1;
  }
  *out = foreign_versioned(object_at(py_object)->foreign.get())->dl_tensor;
  return 0;
}

constexpr std::uintptr_t cuda_handle = 0xC0DA;
int work_stream(DLDeviceType device_type, std::int32_t device_id, void** out_current_stream) {
  if (device_type == kDLCUDA) {
    *out_current_stream =
        reinterpret_cast<void*>(cuda_handle + static_cast<std::uint32_t>(device_id));
  }
  return device_type == kDLROCM ? -1 : 0;  // Paddle writes nothing for the CPU either
}

DLPackExchangeAPI table_of(std::uint32_t major, DLPackExchangeAPIHeader* older = nullptr) {
  return {{{major, 0}, older}, &allocate,    &export_object,
          &import_object,      &lend_object, &work_stream};
}

TEST(ExchangeTable, IsEmptyWithoutAHeader) {
  EXPECT_FALSE(exchange_table());
  EXPECT_FALSE(exchange_table::find(nullptr));
}

TEST(ExchangeTable, FindReturnsATableOfMajorOne) {
  DLPackExchangeAPI older = table_of(1);
  DLPackExchangeAPI api = table_of(1, &older.header);
  api.header.version.minor = 99;
  EXPECT_EQ(exchange_table::find(&api.header).get(), &api);
}

TEST(ExchangeTable, FindSkipsNewerMajorsInTheChain) {
  DLPackExchangeAPI readable = table_of(1);
  DLPackExchangeAPI newer = table_of(2, &readable.header);
  DLPackExchangeAPI newest = table_of(77, &newer.header);
  EXPECT_EQ(exchange_table::find(&newest.header).get(), &readable);
}

TEST(ExchangeTable, IsEmptyForAChainWithoutMajorOne) {
  DLPackExchangeAPI oldest = table_of(0);
  DLPackExchangeAPI newer = table_of(2, &oldest.header);
  EXPECT_FALSE(exchange_table::find(&newer.header));
  EXPECT_FALSE(exchange_table::find(&oldest.header));
}

TEST(ExchangeTable, FindStopsAtAChainWhoseVersionsDoNotDecrease) {
  DLPackExchangeAPI newer = table_of(2);
  newer.header.prev_api = &newer.header;
  EXPECT_FALSE(exchange_table::find(&newer.header));
  DLPackExchangeAPI newest = table_of(3, &newer.header);
  newer.header.prev_api = &newest.header;
  EXPECT_FALSE(exchange_table::find(&newest.header));
}

// Some libraries leave functions null that dlpack.h declares mandatory.
TEST(ExchangeTable, ReportsWhichFunctionsAreSet) {
  struct {
    char const* name;
    void (*remove)(DLPackExchangeAPI&);
    bool (exchange_table::*is_set)() const noexcept;
  } const functions[] = {
      {"lend", [](DLPackExchangeAPI& a) { a.dltensor_from_py_object_no_sync = nullptr; },
       &exchange_table::can_lend},
      {"export", [](DLPackExchangeAPI& a) { a.managed_tensor_from_py_object_no_sync = nullptr; },
       &exchange_table::can_export},
      {"import", [](DLPackExchangeAPI& a) { a.managed_tensor_to_py_object_no_sync = nullptr; },
       &exchange_table::can_import},
      {"allocate", [](DLPackExchangeAPI& a) { a.managed_tensor_allocator = nullptr; },
       &exchange_table::can_allocate},
      {"stream", [](DLPackExchangeAPI& a) { a.current_work_stream = nullptr; },
       &exchange_table::has_work_stream},
  };
  for (auto const& removed : functions) {
    DLPackExchangeAPI api = table_of(1);
    removed.remove(api);
    exchange_table const table = exchange_table::find(&api.header);
    for (auto const& function : functions) {
      EXPECT_EQ((table.*function.is_set)(), &function != &removed)
          << function.name << " of a table without " << removed.name;
    }
  }
}

struct Exchange : testing::Test {
  object a;
  DLPackExchangeAPI api = table_of(1);
  exchange_table table = exchange_table::find(&api.header);
  report why;

  int deleted() const { return a.foreign->deleter_calls; }
  DLManagedTensorVersioned* raw() const { return foreign_versioned(a.foreign.get()); }
  void SetUp() override { library = importer(); }
};

TEST_F(Exchange, LendsTheTensorOfAnObject) {
  DLTensor tensor{};
  ASSERT_TRUE(table.try_lend(&a, tensor));
  EXPECT_EQ(tensor.data, a.foreign->data);
  EXPECT_EQ(foreign_sum(&tensor), 15);
  EXPECT_EQ(deleted(), 0);
}

TEST_F(Exchange, LendsNothingWhenTheFunctionFails) {
  a.fails = true;
  DLTensor tensor{};
  EXPECT_FALSE(table.try_lend(&a, tensor));
}

TEST_F(Exchange, ExportsATensorThatIsFreedOnce) {
  {
    managed_tensor const m = table.try_export(&a, why);
    ASSERT_TRUE(m);
    EXPECT_TRUE(why.ok());
    EXPECT_EQ(m.get_versioned(), raw());
  }
  EXPECT_EQ(deleted(), 1);
}

TEST_F(Exchange, ExportsNothingWhenTheFunctionFails) {
  a.fails = true;
  EXPECT_FALSE(table.try_export(&a, why));
  EXPECT_TRUE(why.ok()) << "the function has set a Python exception instead";
  EXPECT_EQ(deleted(), 0);
}

TEST_F(Exchange, AnExportWithoutATensorIsReported) {
  api.managed_tensor_from_py_object_no_sync = [](void*, DLManagedTensorVersioned**) { return 0; };
  EXPECT_FALSE(table.try_export(&a, why));
  EXPECT_STREQ(message(why).c_str(),
               "producer failed: expected a tensor from the exchange table; got success and no "
               "tensor");
}

TEST_F(Exchange, AMalformedExportedTensorIsFreedOnce) {
  raw()->dl_tensor.ndim = -1;
  EXPECT_FALSE(table.try_export(&a, why));
  EXPECT_TRUE(why.has(errc::malformed));
  EXPECT_EQ(deleted(), 1);
}

TEST_F(Exchange, AnExportedTensorOfAnotherMajorIsFreedOnce) {
  raw()->version.major = 2;
  EXPECT_FALSE(table.try_export(&a, why));
  EXPECT_TRUE(why.has(errc::version_mismatch));
  EXPECT_EQ(deleted(), 1);
}

TEST_F(Exchange, ImportTransfersOwnership) {
  managed_tensor m = managed_tensor::steal(raw());
  EXPECT_EQ(table.try_import(m), &library);
  EXPECT_FALSE(m);
  EXPECT_EQ(library.tensor, raw());
  EXPECT_EQ(deleted(), 0);
  EXPECT_EQ(foreign_consume_versioned(library.tensor), 15);
  EXPECT_EQ(deleted(), 1);
}

TEST_F(Exchange, AFailedImportLeavesTheTensorToTheCaller) {
  library.fails = true;
  managed_tensor m = managed_tensor::steal(raw());
  EXPECT_EQ(table.try_import(m), nullptr);
  EXPECT_EQ(m.get_versioned(), raw());
  EXPECT_EQ(deleted(), 0);
  m.reset();
  EXPECT_EQ(deleted(), 1);
}

TEST_F(Exchange, AllocatesATensorThatIsFreedOnce) {
  heap = {raw(), nullptr, nullptr, 0};
  DLTensor prototype{};
  {
    managed_tensor const m = table.try_allocate(prototype, why);
    EXPECT_EQ(m.get_versioned(), raw());
    EXPECT_TRUE(why.ok());
  }
  EXPECT_EQ(deleted(), 1);
}

TEST_F(Exchange, AMalformedAllocatedTensorIsFreedOnce) {
  heap = {raw(), nullptr, nullptr, 0};
  raw()->dl_tensor.ndim = -1;
  DLTensor prototype{};
  EXPECT_FALSE(table.try_allocate(prototype, why));
  EXPECT_TRUE(why.has(errc::malformed));
  EXPECT_EQ(deleted(), 1);
}

TEST_F(Exchange, TheReportContainsTheAllocatorsError) {
  struct {
    allocator result;
    char const* message;
  } const cases[] = {
      {{nullptr, "MemoryError", "full", -1},
       "out of memory: expected a tensor from the library's allocator; got full"},
      {{nullptr, "MemoryError", "out of memory\nException raised from f at f.cpp:3", -1},
       "out of memory: expected a tensor from the library's allocator; got out of memory"},
      {{nullptr, "MemoryError", "no dtype\nException raised from memory at f.cpp:3", -1},
       "producer failed: expected a tensor from the library's allocator; got no dtype"},
      {{nullptr, "ValueError", "not that", -1},
       "producer failed: expected a tensor from the library's allocator; got not that"},
      {{nullptr, nullptr, "too large\nException raised from f at f.cpp:3", -1},
       "producer failed: expected a tensor from the library's allocator; got too large"},
      {{nullptr, nullptr, "words", -1},
       "producer failed: expected a tensor from the library's allocator; got words"},
      {{nullptr, "Error", nullptr, -1},
       "producer failed: expected a tensor from the library's allocator; got no reason"},
      {{nullptr, nullptr, nullptr, -1},
       "producer failed: expected a tensor from the library's allocator; got none"},
      {{nullptr, nullptr, nullptr, 0},
       "producer failed: expected a tensor from the library's allocator; got none"},
  };
  for (auto const& each : cases) {
    heap = each.result;
    why = report();
    DLTensor prototype{};
    EXPECT_FALSE(table.try_allocate(prototype, why));
    EXPECT_STREQ(message(why).c_str(), each.message);
  }
}

TEST_F(Exchange, ReturnsTheWorkStreamOfTheLibrary) {
  stream_ref stream = stream_ref::default_of(dlbridge::cpu);
  ASSERT_TRUE(table.try_work_stream(device(kDLCUDA, 3), stream));
  EXPECT_EQ(stream.device(), device(kDLCUDA, 3));
  EXPECT_EQ(stream.native_handle(), reinterpret_cast<void*>(cuda_handle + 3));
}

TEST_F(Exchange, AHandleThatIsNotWrittenIsNull) {
  stream_ref stream(dlbridge::cpu, this);
  ASSERT_TRUE(table.try_work_stream(dlbridge::cpu, stream));
  EXPECT_EQ(stream.native_handle(), nullptr);
}

TEST_F(Exchange, AFailedStreamQueryLeavesTheOutputUnchanged) {
  stream_ref stream(device(kDLCUDA, 1), this);
  EXPECT_FALSE(table.try_work_stream(device(kDLROCM, 0), stream));
  EXPECT_EQ(stream.device(), device(kDLCUDA, 1));
  EXPECT_EQ(stream.native_handle(), this);
}

}  // namespace

#endif
