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

DLBRIDGE_BEGIN_NAMESPACE
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

// The widest registers that this processor has.
DLBRIDGE_LOCAL copy_kernel best_copy_kernel() noexcept;
}  // namespace DLBRIDGE_COPY_KERNELS
}  // namespace detail
DLBRIDGE_END_NAMESPACE

#if DLBRIDGE_HEADER_ONLY
#include <dlbridge/detail/copy_kernel.ipp>
#endif
