// SPDX-License-Identifier: BSD-3-Clause
// device.hpp: the table of device types, and names to and from devices.
#include <dlbridge/device.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>

#include "foreign.hpp"

namespace {

using dlbridge::data_kind;
using dlbridge::device;
using dlbridge::runtime_kind;
using dlbridge::try_parse_device;

static_assert(std::is_trivially_copyable_v<device>);
static_assert(std::is_nothrow_default_constructible_v<device>);
static_assert(sizeof(device) == sizeof(DLDevice), "the size of the struct that it wraps");
static_assert(!std::is_convertible_v<DLDevice, device>, "conversion is explicit");
static_assert(device{} == dlbridge::cpu && device{1, 0} == dlbridge::cpu);
static_assert(device{1, 1} != dlbridge::cpu && device{2, 0} != dlbridge::cpu);

constexpr data_kind address = data_kind::address;
constexpr data_kind allocation = data_kind::allocation;
constexpr data_kind handle = data_kind::handle;
constexpr bool host = true;
constexpr runtime_kind none = runtime_kind::none;

// From spec 1.3, 1.6, 4.4 and 4.8. `data` is an address only where a specification says so.
struct known_device {
  std::int32_t type;
  char const* name;  // of ordinal 1
  data_kind data;
  bool host_accessible;
  runtime_kind streams;  // the runtime whose streams order work on it
  runtime_kind memory;   // the runtime that allocates and copies its memory
};
constexpr known_device known_devices[] = {
    {1, "cpu:1", address, host, none, none},
    {2, "cuda:1", address, !host, runtime_kind::cuda, runtime_kind::cuda},
    {3, "cuda_host:1", address, host, none, runtime_kind::cuda},
    {4, "opencl:1", handle, !host, none, none},
    {7, "vulkan:1", handle, !host, none, none},
    {8, "metal:1", handle, !host, none, none},
    {9, "vpi:1", handle, !host, none, none},
    {10, "rocm:1", address, !host, runtime_kind::hip, runtime_kind::hip},
    {11, "rocm_host:1", address, host, none, runtime_kind::hip},
    {12, "ext_dev:1", handle, !host, none, none},
    {13, "cuda_managed:1", address, host, runtime_kind::cuda, runtime_kind::cuda},
    {14, "oneapi:1", allocation, !host, none, none},
    {15, "webgpu:1", handle, !host, none, none},
    {16, "hexagon:1", handle, !host, none, none},
    {17, "maia:1", handle, !host, none, none},
    {18, "trn:1", handle, !host, none, none},
    {19, "tpu:1", handle, !host, none, none},
    {20, "tpu_host:1", address, host, none, none},
    {21, "ascend:1", handle, !host, none, none},
};

known_device const* known(std::int32_t type) {
  for (known_device const& each : known_devices) {
    if (each.type == type) {
      return &each;
    }
  }
  return nullptr;
}

TEST(Device, EveryTypeOfTheSpecificationIsKnownAndNoOther) {
  for (std::int32_t type = -2; type < 300; ++type) {
    device const where(type, 1);
    known_device const* const expected = known(type);
    ASSERT_EQ(is_known(where), expected != nullptr) << type;
    EXPECT_EQ(has_address(where), expected != nullptr && expected->data != handle) << type;
    EXPECT_EQ(keeps_data(where), expected != nullptr && expected->data == allocation) << type;
    EXPECT_EQ(is_host_accessible(where), expected != nullptr && expected->host_accessible) << type;
    EXPECT_EQ(runtime_of(where), expected != nullptr ? expected->streams : none) << type;
    EXPECT_EQ(dlbridge::runtime_of_memory(where), expected != nullptr ? expected->memory : none)
        << type;
    if (expected != nullptr) {
      EXPECT_EQ(find_row(where)->type, type);
      EXPECT_STREQ(name_of(where).c_str(), expected->name);
      device parsed;
      EXPECT_TRUE(try_parse_device(expected->name, parsed)) << expected->name;
      EXPECT_EQ(parsed, where) << expected->name;
    }
  }
}

TEST(Device, MemoryKindFollowsTheDeviceType) {
  using dlbridge::memory_kind;
  using dlbridge::memory_of;
  EXPECT_EQ(memory_of(device(kDLCPU, 0)), memory_kind::host);
  EXPECT_EQ(memory_of(device(kDLCUDAHost, 0)), memory_kind::pinned);
  EXPECT_EQ(memory_of(device(kDLROCMHost, 0)), memory_kind::pinned);
  EXPECT_EQ(memory_of(device(20, 0)), memory_kind::pinned) << "tpu_host";
  EXPECT_EQ(memory_of(device(kDLCUDAManaged, 0)), memory_kind::managed);
  EXPECT_EQ(memory_of(device(kDLCUDA, 0)), memory_kind::device);
  EXPECT_EQ(memory_of(device(99, 0)), memory_kind::device) << "an unknown type";
}

TEST(Device, HostAccessibleTypesHaveAddresses) {
  for (dlbridge::device_row const& each : dlbridge::device_rows) {
    EXPECT_TRUE(!each.host_accessible() || each.data == address) << each.name;
  }
}

TEST(Device, NamesContainTheOrdinalExceptForTheFirstCpu) {
  struct row {
    device where;
    char const* name;
  };
  row const rows[] = {
      {{1, 0}, "cpu"},
      {{2, 0}, "cuda:0"},
      {{10, INT32_MAX}, "rocm:2147483647"},
      {{2, -1}, "cuda:-1"},
      {{0, 0}, "(device type 0, id 0)"},
      {{5, 1}, "(device type 5, id 1)"},
      {{INT32_MIN, INT32_MIN}, "(device type -2147483648, id -2147483648)"},
  };
  for (row const& each : rows) {
    EXPECT_STREQ(name_of(each.where).c_str(), each.name);
  }
}

TEST(Device, ANameWithoutOrdinalMeansOrdinalZero) {
  struct row {
    char const* name;
    device where;
  };
  row const rows[] = {
      {"cpu", {1, 0}},
      {"cpu:0", {1, 0}},
      {"cuda", {2, 0}},
      {"cuda:0", {2, 0}},
      {"cuda:1908273645", {2, 1908273645}},
      {"cuda_host", {3, 0}},
      {"rocm:007", {10, 7}},
      {"tpu_host:2", {20, 2}},
      {"oneapi:2147483647", {14, INT32_MAX}},
  };
  for (row const& each : rows) {
    device parsed(99, 99);
    EXPECT_TRUE(try_parse_device(each.name, parsed)) << each.name;
    EXPECT_EQ(parsed, each.where) << each.name;
  }
}

TEST(Device, AnInvalidNameIsRefusedAndLeavesTheOutputUnchanged) {
  for (char const* const name : {"",
                                 ":",
                                 ":0",
                                 "cp",
                                 "cpu0",
                                 "CPU",
                                 " cpu",
                                 "cpu ",
                                 "cpu:",
                                 "cpu: 0",
                                 "cpu:0 ",
                                 "cpu:x",
                                 "cpu:0x1",
                                 "cpu:-1",
                                 "cpu:+1",
                                 "cpu:0:0",
                                 "cuda_",
                                 "cuda_hos",
                                 "gpu",
                                 "cuda:2147483648",
                                 "cuda:99999999999999999999999999",
                                 "(device type 99, id 0)"}) {
    device out(99, 99);
    EXPECT_FALSE(try_parse_device(name, out)) << name;
    EXPECT_EQ(out, device(99, 99)) << name;
  }
}

TEST(Device, RoundTripsThroughTheStructKnownOrNot) {
  foreign_ptr const foreign = make_foreign();
  EXPECT_EQ(device(foreign_legacy(foreign.get())->dl_tensor.device), dlbridge::cpu);
  for (std::int32_t const type : {-1, 0, 1, 5, 21, 22, INT32_MAX, INT32_MIN}) {
    DLDevice const abi = device(type, type).abi();
    EXPECT_EQ(static_cast<std::int32_t>(abi.device_type), type);
    EXPECT_EQ(abi.device_id, type);
    EXPECT_EQ(device(abi), device(type, type));
  }
}

}  // namespace
