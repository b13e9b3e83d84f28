// SPDX-License-Identifier: BSD-3-Clause
// abi.hpp: the layout of the structs of dlpack.h and of dlbridge's types, and the traits of both
// managed structs.
#include <dlbridge/abi.hpp>
#include <dlbridge/dlbridge.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "foreign.hpp"

namespace {

using dlbridge::struct_kind;
using dlbridge::struct_traits;

// Sizes and offsets, which producer and consumer must share. When a dlpack.h moves a field,
// compilation fails here.
static_assert(sizeof(DLPackVersion) == 8 && alignof(DLPackVersion) == 4);
static_assert(offsetof(DLPackVersion, major) == 0);
static_assert(offsetof(DLPackVersion, minor) == 4);

static_assert(sizeof(DLDevice) == 8 && alignof(DLDevice) == 4);
static_assert(offsetof(DLDevice, device_type) == 0);
static_assert(offsetof(DLDevice, device_id) == 4);
static_assert(std::is_same_v<std::underlying_type_t<DLDeviceType>, std::int32_t>,
              "an unknown device type must be representable");

static_assert(sizeof(DLDataType) == 4 && alignof(DLDataType) == 2);
static_assert(offsetof(DLDataType, code) == 0);
static_assert(offsetof(DLDataType, bits) == 1);
static_assert(offsetof(DLDataType, lanes) == 2);

#if UINTPTR_MAX == UINT64_MAX  // spec 1.2 has the sizes with pointers of 64 bits only
static_assert(sizeof(DLTensor) == 48 && alignof(DLTensor) == 8);
static_assert(offsetof(DLTensor, data) == 0);
static_assert(offsetof(DLTensor, device) == 8);
static_assert(offsetof(DLTensor, ndim) == 16);
static_assert(offsetof(DLTensor, dtype) == 20);
static_assert(offsetof(DLTensor, shape) == 24);
static_assert(offsetof(DLTensor, strides) == 32);
static_assert(offsetof(DLTensor, byte_offset) == 40);

static_assert(sizeof(DLManagedTensor) == 64 && alignof(DLManagedTensor) == 8);
static_assert(offsetof(DLManagedTensor, dl_tensor) == 0);
static_assert(offsetof(DLManagedTensor, manager_ctx) == 48);
static_assert(offsetof(DLManagedTensor, deleter) == 56);

static_assert(sizeof(DLManagedTensorVersioned) == 80 && alignof(DLManagedTensorVersioned) == 8);
static_assert(offsetof(DLManagedTensorVersioned, version) == 0);
static_assert(offsetof(DLManagedTensorVersioned, manager_ctx) == 8);
static_assert(offsetof(DLManagedTensorVersioned, deleter) == 16);
static_assert(offsetof(DLManagedTensorVersioned, flags) == 24);
static_assert(offsetof(DLManagedTensorVersioned, dl_tensor) == 32);

#if DLBRIDGE_DLPACK_AT_LEAST(2)
static_assert(sizeof(DLPackExchangeAPIHeader) == 16 && alignof(DLPackExchangeAPIHeader) == 8);
static_assert(offsetof(DLPackExchangeAPIHeader, version) == 0);
static_assert(offsetof(DLPackExchangeAPIHeader, prev_api) == 8);

static_assert(sizeof(DLPackExchangeAPI) == 56 && alignof(DLPackExchangeAPI) == 8);
static_assert(offsetof(DLPackExchangeAPI, header) == 0);
static_assert(offsetof(DLPackExchangeAPI, managed_tensor_allocator) == 16);
static_assert(offsetof(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync) == 24);
static_assert(offsetof(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync) == 32);
static_assert(offsetof(DLPackExchangeAPI, dltensor_from_py_object_no_sync) == 40);
static_assert(offsetof(DLPackExchangeAPI, current_work_stream) == 48);
#endif
#endif

// Flags (spec 1.8). Those of dlbridge always have 64 bits; those of dlpack.h have 32 on Windows.
static_assert(std::is_same_v<decltype(dlbridge::flag_read_only), std::uint64_t const>);
static_assert(dlbridge::flag_read_only == 1 << 0);
static_assert(dlbridge::flag_is_copied == 1 << 1);
static_assert(dlbridge::flag_padded == 1 << 2);
static_assert(dlbridge::flag_read_only == DLPACK_FLAG_BITMASK_READ_ONLY);
static_assert(dlbridge::flag_is_copied == DLPACK_FLAG_BITMASK_IS_COPIED);
#if DLBRIDGE_DLPACK_AT_LEAST(1)
static_assert(dlbridge::flag_padded == DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);
#endif

static_assert(DLBRIDGE_DLPACK_AT_LEAST(0), "dlpack.h 1.0 is the oldest that is supported");
static_assert(!DLBRIDGE_DLPACK_AT_LEAST(DLPACK_MINOR_VERSION + 1));
static_assert(dlbridge::max_rank == 64, "the maximum of NumPy (spec 1.7)");

TEST(Abi, CapsuleNamesAreThoseOfTheSpecification) {  // spec 3.1
  EXPECT_STREQ(struct_traits<DLManagedTensor>::fresh_name(), "dltensor");
  EXPECT_STREQ(struct_traits<DLManagedTensor>::used_name(), "used_dltensor");
  EXPECT_STREQ(struct_traits<DLManagedTensorVersioned>::fresh_name(), "dltensor_versioned");
  EXPECT_STREQ(struct_traits<DLManagedTensorVersioned>::used_name(), "used_dltensor_versioned");
  EXPECT_STREQ(dlbridge::exchange_capsule_name(), "dlpack_exchange_api");
}

// CMake and the Python package read the version with a regular expression for decimal numbers.
#define TEXT_OF(macro) QUOTED(macro)
#define QUOTED(text) #text
TEST(Abi, VersionMacrosAreDecimalNumbers) {
  for (std::string const number : {TEXT_OF(DLBRIDGE_VERSION_MAJOR), TEXT_OF(DLBRIDGE_VERSION_MINOR),
                                   TEXT_OF(DLBRIDGE_VERSION_PATCH)}) {
    EXPECT_EQ(number.find_first_not_of("0123456789"), std::string::npos) << number;
  }
}

TEST(Abi, TheNamespaceEncodesTheLayoutsAndWhetherThereAreExchangeTables) {
  EXPECT_EQ(TEXT_OF(DLBRIDGE_ABI),
            "v" TEXT_OF(DLBRIDGE_ABI_NUMBER) +
                std::string(DLBRIDGE_DLPACK_AT_LEAST(2) ? "" : "_no_exchange"));
}

// The layouts of the number 1. Whoever changes one raises DLBRIDGE_ABI_NUMBER, and then this list.
static_assert(DLBRIDGE_ABI_NUMBER == 1, "state the new layouts here");
using matrix = dlbridge::shape<-1, -1>;
template <class T, std::size_t Size, std::size_t Alignment = 8>
constexpr bool is_laid_out = sizeof(void*) != 8 || (sizeof(T) == Size && alignof(T) == Alignment);
static_assert(is_laid_out<dlbridge::dtype, 4, 2> && is_laid_out<dlbridge::device, 8, 4>);
static_assert(is_laid_out<dlbridge::version, 8, 4> && is_laid_out<dlbridge::device_filter, 8, 4>);
static_assert(is_laid_out<dlbridge::stream_ref, 24> && is_laid_out<dlbridge::kept_stream, 32>);
static_assert(is_laid_out<dlbridge::stream_request, 32> && is_laid_out<dlbridge::report, 504>);
static_assert(is_laid_out<dlbridge::error, 1160> && is_laid_out<dlbridge::requirement, 56>);
static_assert(is_laid_out<dlbridge::tensor_view, 56> && is_laid_out<dlbridge::managed_tensor, 8>);
static_assert(is_laid_out<dlbridge::tensor_span<float>, 56> &&
              is_laid_out<dlbridge::tensor_span<float, matrix>, 72>);
static_assert(is_laid_out<dlbridge::tensor<float>, 64> &&
              is_laid_out<dlbridge::tensor<float, matrix>, 80>);
static_assert(is_laid_out<dlbridge::any_tensor, 8> && is_laid_out<dlbridge::shared_tensor, 8>);
static_assert(!DLBRIDGE_DLPACK_AT_LEAST(2) || is_laid_out<dlbridge::exchange_table, 8>);
static_assert(is_laid_out<dlbridge::dims, 520>);
static_assert(is_laid_out<dlbridge::description, 1080> &&
              is_laid_out<dlbridge::host_allocator, 16>);
static_assert(is_laid_out<dlbridge::extent_names, 1256>);

}  // namespace
