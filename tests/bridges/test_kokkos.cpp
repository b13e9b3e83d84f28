// SPDX-License-Identifier: BSD-3-Clause
// bridges/kokkos.hpp: export and import of Views of host memory, and the devices of memory spaces.
#include <dlbridge/bridges/kokkos.hpp>

#include "bridge_fixture.hpp"

namespace {

using dlbridge::as;
using dlbridge::build;
using dlbridge::managed_tensor;

using unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
template <class Data, class Layout>
using host = Kokkos::View<Data, Layout, Kokkos::HostSpace, unmanaged>;

struct Runtime : testing::Environment {
  void SetUp() override { Kokkos::initialize(); }
  void TearDown() override { Kokkos::finalize(); }
};
testing::Environment const* const runtime = testing::AddGlobalTestEnvironment(new Runtime);

TEST(KokkosExport, TheTensorSharesOwnershipOfTheView) {
  Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> const v("v", 2, 3);
  Kokkos::deep_copy(v, 2);
  {
    auto copy = v;
    managed_tensor m = build(std::move(copy));
    EXPECT_EQ(m.tensor().data, v.data());
    EXPECT_EQ(shape_of(m), (sizes{2, 3}));
    EXPECT_EQ(m.flags(), 0U);
    EXPECT_GE(v.use_count(), 2);
    EXPECT_EQ(consume_in_c(std::move(m)), 12);
  }
  EXPECT_EQ(v.use_count(), 1);
}

TEST(KokkosExport, EveryLayoutKeepsItsStrides) {
  managed_tensor const left =
      build(Kokkos::View<int* [3], Kokkos::LayoutLeft, Kokkos::HostSpace>("left", 2));
  EXPECT_EQ(shape_of(left), (sizes{2, 3}));
  EXPECT_EQ(strides_of(left)[0], 1);
  Kokkos::View<int***, Kokkos::LayoutRight, Kokkos::HostSpace> const whole("whole", 4, 5, 6);
  auto slice = Kokkos::subview(whole, Kokkos::make_pair(1, 3), 2, Kokkos::ALL());
  int const* const first = slice.data();
  managed_tensor const strided = build(std::move(slice));
  EXPECT_EQ(strided.tensor().data, first);
  EXPECT_EQ(first, &whole(1, 2, 0));
  EXPECT_EQ(strides_of(strided), (sizes{30, 1}));
}

TEST(KokkosExport, SupportsRanksZeroToEight) {
  Kokkos::View<float, Kokkos::HostSpace> scalar("scalar");
  scalar() = 7;
  EXPECT_EQ(consume_in_c(build(std::move(scalar))), 7);
  Kokkos::View<float********, Kokkos::LayoutRight, Kokkos::HostSpace> eight("eight", 1, 2, 1, 2, 1,
                                                                            2, 1, 2);
  eight(0, 1, 0, 1, 0, 1, 0, 1) = 9;
  managed_tensor m = build(std::move(eight));
  EXPECT_EQ(shape_of(m), (sizes{1, 2, 1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(consume_in_c(std::move(m)), 9);
  EXPECT_EQ(shape_of(build(Kokkos::View<float**, Kokkos::HostSpace>("none", 0, 3))), (sizes{0, 3}));
}

TEST(KokkosExport, OfConstIsReadOnly) {
  float memory[2] = {1, 2};
  managed_tensor const m = build(host<float const*, Kokkos::LayoutRight>(memory, 2));
  EXPECT_EQ(m.flags(), dlbridge::flag_read_only);
  managed_tensor const c = build(Kokkos::View<Kokkos::complex<double>*, Kokkos::HostSpace>("c", 2));
  EXPECT_EQ(dlbridge::dtype(c.tensor().dtype), dlbridge::dtype(kDLComplex, 128));
}

/// Execution spaces of backends that are not built, with the functions that the bridge calls.
struct on_cuda {
  int cuda_device() const { return 3; }
};
struct on_hip {
  int hip_device() const { return 2; }
};

TEST(KokkosDevices, FollowTheMemorySpace) {
  using dlbridge::detail::device_type_of_space;
  static_assert(device_type_of_space("Host") == kDLCPU);
  static_assert(device_type_of_space("Cuda") == kDLCUDA);
  static_assert(device_type_of_space("CudaUVM") == kDLCUDAManaged);
  static_assert(device_type_of_space("CudaHostPinned") == kDLCUDAHost);
  static_assert(device_type_of_space("HIP") == kDLROCM);
  static_assert(device_type_of_space("HIPHostPinned") == kDLROCMHost);
  static_assert(device_type_of_space("SYCLDeviceUSM") == kDLOneAPI);
  static_assert(device_type_of_space("OpenMPTargetSpace") == -1);
  EXPECT_EQ(dlbridge::detail::ordinal_of<on_cuda>::get(), 3);
  EXPECT_EQ(dlbridge::detail::ordinal_of<on_hip>::get(), 2);
  EXPECT_EQ(dlbridge::detail::ordinal_of<Kokkos::DefaultHostExecutionSpace>::get(), 0);
}

struct KokkosImport : BridgeFixture {};

TEST_F(KokkosImport, AViewRefersToTheForeignElements) {
  auto const v = as<host<float**, Kokkos::LayoutRight>>(view());
  EXPECT_EQ(v.data(), foreign->data);
  EXPECT_EQ(v.extent(1), 3U);
  EXPECT_EQ(v(1, 2), 5);
  v(1, 0) = 30;
  EXPECT_EQ(foreign->data[3], 30);
  expect_one_deletion();
}

TEST_F(KokkosImport, LayoutStrideAcceptsNonNegativeStrides) {
  set_layout({3, 2}, {4, 9});
  EXPECT_EQ((as<host<float const**, Kokkos::LayoutStride>>(view())(2, 1)), 17);
  set_layout({3, 2}, {0, 1});
  EXPECT_EQ((as<host<float const* [2], Kokkos::LayoutStride>>(view())(2, 1)), 1);
  set_layout({3, 2}, {2, -1});
  t.byte_offset = 4;
  EXPECT_EQ(
      (refusal<host<float const**, Kokkos::LayoutStride>>()),
      "layout_mismatch: expected float32[*, *] on cpu, strides of 0 and above; got "
      "float32[3, 2] on cpu with strides [2, -1]: layout differs. Pass a copy in that layout");
}

TEST_F(KokkosImport, LayoutLeftIsColumnMajor) {
  set_layout({2, 3}, {1, 2});
  EXPECT_EQ((as<host<float**, Kokkos::LayoutLeft>>(view())(1, 2)), 5);
  set_layout({2, 3});
  EXPECT_EQ((refusal<host<float**, Kokkos::LayoutLeft>>()),
            "layout_mismatch: expected float32[*, *] on cpu, column-major, writable; got "
            "float32[2, 3] on cpu with strides [3, 1]: layout differs. Pass a copy in that layout");
}

TEST_F(KokkosImport, FixedExtentsMustMatch) {
  EXPECT_EQ((as<host<float* [3], Kokkos::LayoutRight>>(view())(1, 2)), 5);
  EXPECT_EQ((as<host<float[2][3], Kokkos::LayoutRight>>(view())(1, 2)), 5);
  EXPECT_EQ(
      (refusal<host<float* [4], Kokkos::LayoutRight>>()),
      "extent_mismatch: expected float32[*, 4] on cpu, row-major, writable; got float32[2, 3] "
      "on cpu: extents differ");
}

TEST_F(KokkosImport, SupportsRankZeroAndNoElements) {
  make_empty({2, 0});
  EXPECT_EQ((as<host<float**, Kokkos::LayoutStride>>(view()).extent(0)), 2U);
  EXPECT_EQ((as<host<float**, Kokkos::LayoutLeft>>(view()).size()), 0U);
  make_scalar();
  t.data = foreign->data;
  EXPECT_EQ((as<host<float, Kokkos::LayoutRight>>(view())()), 3);
}

TEST_F(KokkosImport, OneMessageListsEveryMismatch) {
  make_read_only();
  t.device = {kDLCUDA, 1};
  EXPECT_EQ((refusal<host<int* [4], Kokkos::LayoutRight>>()),
            "dtype_mismatch: expected int32[*, 4] on cpu, row-major, writable; got float32[2, 3] "
            "on cuda:1, read-only: dtype, extents, device, writability differ. Pass a "
            "writable copy");
  t.device = {kDLCUDAHost, 0};  // host-accessible
  EXPECT_EQ((as<host<float const**, Kokkos::LayoutRight>>(view())(1, 2)), 5);
}

TEST_F(KokkosImport, AnAlignedViewRequiresAlignedMemory) {
  using aligned = Kokkos::View<float const**, Kokkos::LayoutRight, Kokkos::HostSpace,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged | Kokkos::Aligned>>;
  EXPECT_EQ(as<aligned>(view())(1, 2), 5);
  t.byte_offset = 4;
  EXPECT_EQ(refusal<aligned>().substr(0, 10), "misaligned");
}

}  // namespace
