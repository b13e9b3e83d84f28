# SPDX-License-Identifier: BSD-3-Clause
"""The kernels of the proof, in PTX, which the driver compiles for its device."""

from __future__ import annotations

# The first lines of both kernels with a loop: d7 becomes the index of the thread, d8 the number of
# threads.
_INDEX = """
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  cvt.u64.u32 %d7, %r5;
  mov.u32 %r6, %nctaid.x;
  mul.lo.u32 %r7, %r6, %r3;
  cvt.u64.u32 %d8, %r7;
"""

# sm_75 is the oldest architecture that CUDA 13 supports.
PTX = f"""
.version 7.8
.target sm_75
.address_size 64

// Spins for some cycles of the clock, then fills n bytes at p with a value.
.visible .entry fill_late(.param .u64 p, .param .u64 n, .param .u32 v, .param .u64 cycles)
{{
  .reg .pred %p<3>;
  .reg .b32 %r<8>;
  .reg .b64 %d<10>;
  ld.param.u64 %d1, [p];
  ld.param.u64 %d2, [n];
  ld.param.u32 %r1, [v];
  ld.param.u64 %d3, [cycles];
  cvta.to.global.u64 %d1, %d1;
  mov.u64 %d4, %clock64;
SPIN:
  mov.u64 %d5, %clock64;
  sub.u64 %d6, %d5, %d4;
  setp.lt.u64 %p1, %d6, %d3;
  @%p1 bra SPIN;
{_INDEX}
LOOP:
  setp.ge.u64 %p2, %d7, %d2;
  @%p2 bra DONE;
  add.u64 %d9, %d1, %d7;
  st.global.u8 [%d9], %r1;
  add.u64 %d7, %d7, %d8;
  bra LOOP;
DONE:
  ret;
}}

// Copies n bytes.
.visible .entry copy_bytes(.param .u64 to, .param .u64 from, .param .u64 n)
{{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %d<10>;
  ld.param.u64 %d1, [to];
  ld.param.u64 %d2, [from];
  ld.param.u64 %d3, [n];
  cvta.to.global.u64 %d1, %d1;
  cvta.to.global.u64 %d2, %d2;
{_INDEX}
LOOP:
  setp.ge.u64 %p1, %d7, %d3;
  @%p1 bra DONE;
  add.u64 %d6, %d2, %d7;
  ld.global.u8 %r1, [%d6];
  add.u64 %d9, %d1, %d7;
  st.global.u8 [%d9], %r1;
  add.u64 %d7, %d7, %d8;
  bra LOOP;
DONE:
  ret;
}}

// Stores to an address that may be invalid.
.visible .entry store_one(.param .u64 p)
{{
  .reg .b32 %r<2>;
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [p];
  cvta.to.global.u64 %d1, %d1;
  mov.u32 %r1, 1;
  st.global.u32 [%d1], %r1;
  ret;
}}
""".encode()

NAMES = ("fill_late", "copy_bytes", "store_one")
