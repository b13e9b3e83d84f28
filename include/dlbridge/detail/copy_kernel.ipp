// The bodies of copy_kernel.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlbridge/detail/copy_kernel.hpp>

DLBRIDGE_BEGIN_NAMESPACE
namespace detail {
inline namespace DLBRIDGE_COPY_KERNELS {
// Whether the processor has AVX2, and the system saves its registers. __builtin_cpu_supports tells
// the same, but adds 4 KB to each library that calls it.
DLBRIDGE_COLD DLBRIDGE_NOINLINE inline bool has_avx2() noexcept {
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

DLBRIDGE_API copy_kernel best_copy_kernel() noexcept {
#if defined(DLBRIDGE_AVX2)
  static copy_kernel const best = has_avx2() ? copy_kernel::vector32 : copy_kernel::vector16;
  return best;
#else
  return DLBRIDGE_VECTORS ? copy_kernel::vector16 : copy_kernel::portable;
#endif
}
}  // namespace DLBRIDGE_COPY_KERNELS
}  // namespace detail
DLBRIDGE_END_NAMESPACE
