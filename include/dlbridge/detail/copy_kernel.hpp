// copy_kernel, DLBRIDGE_COPY_KERNELS: the register kernels that a copy can use, and the namespace
// of those that this compiler builds.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <dlbridge/abi.hpp>

// DLBRIDGE_VECTORS: 1 where the compiler has vector types, and the processor registers for them.
// nvcc does not read the shuffles.
// DLBRIDGE_AVX2: the attribute of functions that use AVX2. Not defined for GCC before 12, which has
// no __builtin_shufflevector, and on Windows, where GCC does not align 32-byte registers on the
// stack.
// DLBRIDGE_COPY_KERNELS: a namespace for each of the three cases, as compilers of one program may
// differ, and the linker keeps one function of each name.
#if defined(__GNUC__) && !defined(__CUDACC__) && (defined(__SSE2__) || defined(__aarch64__))
#define DLBRIDGE_VECTORS 1
#if defined(__x86_64__) && !defined(_WIN32) && (defined(__clang__) || __GNUC__ >= 12)
#define DLBRIDGE_AVX2 __attribute__((target("avx2")))
#define DLBRIDGE_COPY_KERNELS copy_avx2
#include <cpuid.h>
#else
#define DLBRIDGE_COPY_KERNELS copy_vectors
#endif
#else
#define DLBRIDGE_VECTORS 0
#define DLBRIDGE_COPY_KERNELS copy_portable
#endif

namespace dlbridge {
inline namespace DLBRIDGE_ABI {
namespace detail {
inline namespace DLBRIDGE_COPY_KERNELS {

// The registers that a copy uses: none, those that every processor of the target has, or AVX2.
enum class copy_kernel : std::uint8_t { portable, vector16, vector32 };

// Whether stream_line stores past the cache.
#if defined(__SSE2__) && defined(__GNUC__)
constexpr bool has_streaming_stores = true;
#else
constexpr bool has_streaming_stores = false;
#endif

// Whether the processor has AVX2, and the system saves its registers. __builtin_cpu_supports tells
// the same, but adds 4 KB to each library that calls it.
DLBRIDGE_COLD inline bool has_avx2() noexcept {
#if defined(DLBRIDGE_AVX2)
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned needed = bit_OSXSAVE | bit_AVX;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & needed) != needed) {
    return false;
  }
  __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
  constexpr unsigned saved = 6;  // XMM and YMM
  return (a & saved) == saved && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
         (b & bit_AVX2) != 0;
#else
  return false;
#endif
}

// The widest registers that this processor has.
DLBRIDGE_LOCAL inline copy_kernel best_copy_kernel() noexcept {
#if defined(DLBRIDGE_AVX2)
  static copy_kernel const best = has_avx2() ? copy_kernel::vector32 : copy_kernel::vector16;
  return best;
#else
  return DLBRIDGE_VECTORS ? copy_kernel::vector16 : copy_kernel::portable;
#endif
}

}  // namespace DLBRIDGE_COPY_KERNELS
}  // namespace detail
}  // namespace DLBRIDGE_ABI
}  // namespace dlbridge
