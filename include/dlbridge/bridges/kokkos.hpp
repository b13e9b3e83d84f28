// array_traits and view_traits of Kokkos::View: export and view Views of any layout, in the memory
// spaces that DLPack has device types for.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <Kokkos_Core.hpp>

#include <dlbridge/array_traits.hpp>
#include <dlbridge/as.hpp>
#include <dlbridge/check.hpp>
#include <dlbridge/device.hpp>
#include <dlbridge/dtype.hpp>
#include <dlbridge/tensor_view.hpp>
#include <dlbridge/types/complex.hpp>

DLBRIDGE_BEGIN_NAMESPACE

/// complex64.
template <>
struct dtype_traits<Kokkos::complex<float>> {
  static constexpr dtype value{kDLComplex, 64};  ///< The dtype.
};
/// complex128.
template <>
struct dtype_traits<Kokkos::complex<double>> {
  static constexpr dtype value{kDLComplex, 128};  ///< The dtype.
};

namespace detail {
struct kokkos_row {
  char const* space;  // name() of the memory space: its type exists only if its backend is enabled
  std::int32_t device_type;
};
DLBRIDGE_LOCAL inline constexpr kokkos_row kokkos_rows[] = {
    {"Host", kDLCPU},
    {"HBW", kDLCPU},
    {"Cuda", kDLCUDA},
    {"CudaUVM", kDLCUDAManaged},
    {"CudaHostPinned", kDLCUDAHost},
    {"HIP", kDLROCM},
    {"HIPManaged", kDLROCM},
    {"HIPHostPinned", kDLROCMHost},
    {"SYCLDeviceUSM", kDLOneAPI},
    {"SYCLSharedUSM", kDLOneAPI},
    {"SYCLHostUSM", kDLOneAPI},
};

constexpr bool same_text(char const* a, char const* b) noexcept {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

// The device type of a memory space, or -1.
constexpr std::int32_t device_type_of_space(char const* name) noexcept {
  for (kokkos_row const& each : kokkos_rows) {
    if (same_text(each.space, name)) {
      return each.device_type;
    }
  }
  return -1;
}

// The ordinal of the device of an execution space; 0 on the host.
template <class Execution, class = void>
struct ordinal_of {
  static int get() noexcept { return 0; }
};
template <class Execution>
struct ordinal_of<Execution, std::void_t<decltype(std::declval<Execution>().cuda_device())>> {
  static int get() noexcept { return Execution().cuda_device(); }
};
template <class Execution>
struct ordinal_of<Execution, std::void_t<decltype(std::declval<Execution>().hip_device())>> {
  static int get() noexcept { return Execution().hip_device(); }
};

template <class View>
struct kokkos_facts {
  using element = typename View::value_type;
  using layout = typename View::array_layout;
  static constexpr int rank = static_cast<int>(View::traits::dimension::rank);
  static constexpr int dynamic = static_cast<int>(View::traits::dimension::rank_dynamic);
  static constexpr std::int32_t device_type = device_type_of_space(View::memory_space::name());
  static_assert(device_type >= 0,
                "dlbridge: DLPack has no device type for this Kokkos memory space");
};
}  // namespace detail

/// Exports a View of any layout, in a memory space that DLPack has a device type for.
/// @par Ownership
/// The tensor owns a copy of the View, and so shares its memory.
/// @par Lifetime
/// If Kokkos allocated the memory, the consumer must free the tensor before Kokkos::finalize(). If
/// the View does not own the memory, the caller keeps it valid until the tensor is freed.
template <class Data, class... Properties>
struct array_traits<Kokkos::View<Data, Properties...>> {
  using array = Kokkos::View<Data, Properties...>;  ///< The array type.
  using facts = detail::kokkos_facts<array>;        ///< Its properties.

  static description describe(array& v) noexcept;  ///< The memory of a View.
};

/// as<Kokkos::View<...>>(view) returns an unmanaged View. The view must be row-major for
/// LayoutRight, column-major for LayoutLeft, and have no negative stride for LayoutStride. A View
/// of host memory accepts all memory that the CPU can access.
template <class Data, class... Properties>
struct view_traits<Kokkos::View<Data, Properties...>> {
  using array = Kokkos::View<Data, Properties...>;  ///< The view type.
  using facts = detail::kokkos_facts<array>;        ///< Its properties.
  /// Whether the View is row-major.
  static constexpr bool is_right = std::is_same_v<typename facts::layout, Kokkos::LayoutRight>;
  /// Whether the View is column-major.
  static constexpr bool is_left = std::is_same_v<typename facts::layout, Kokkos::LayoutLeft>;
  /// Whether the View has any strides.
  static constexpr bool is_strided = std::is_same_v<typename facts::layout, Kokkos::LayoutStride>;
  static_assert(is_right || is_left || is_strided,
                "dlbridge: this Kokkos layout has no strides, so DLPack cannot describe it");

  static array view(tensor_view const& of);  ///< As as<T>.
};

DLBRIDGE_END_NAMESPACE

#include <dlbridge/bridges/kokkos.inl>
