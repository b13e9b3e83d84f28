# SPDX-License-Identifier: BSD-3-Clause
"""Cases of the data pointer: NULL, offset, alignment; of deleter, access and flags."""

from __future__ import annotations

from ... import abi, devices
from ...output import plural
from .case import (
    COPIES,
    CRASHES_IN_USE,
    CRASHES_ON_RELEASE,
    FAILS_LATER,
    SEND_ONLY,
    UNKNOWN,
    WRITABLE,
    WRONG,
    Case,
    has_elements,
    reactions,
)

MEMORY = [
    Case(
        "data NULL",
        "defect",
        lambda x: x.data == 0 and has_elements(x),
        lambda x: "data is NULL, but there are elements",
        reactions(
            numpy=WRONG,
            torch=FAILS_LATER,
            jax=FAILS_LATER,
            tensorflow=FAILS_LATER,
            mxnet="SIGSEGV",
            tvm_ffi=FAILS_LATER,
            mpi4py="MPI.Exception",
            dpnp="ValueError",
            paddle=FAILS_LATER,
            mlx="SIGSEGV",
            pyarrow=WRONG,
            onnxruntime=FAILS_LATER,
            warp=WRONG,
            nanobind=FAILS_LATER,
        ),
        lambda x: "The data pointer is NULL, but there are elements.",
        rule="P-38",
    ),
    Case(
        "memory unreadable",
        "defect",
        lambda x: x.readable is False and x.data != 0,
        lambda x: "the memory is not readable",
        reactions(FAILS_LATER, mlx="SIGSEGV"),
        lambda x: "The data pointer refers to memory that is not entirely readable.",
        rule="P-13",
    ),
    Case(
        "empty, NULL",
        "",
        lambda x: x.layout is not None and x.layout.size == 0 and x.data == 0,
        lambda x: "no elements",
        reactions(numpy=COPIES, dpnp=COPIES, mlx=COPIES, pyarrow=COPIES),
    ),
    Case(
        "empty, with a pointer",
        "note",
        lambda x: x.layout is not None and x.layout.size == 0 and x.data != 0 and x.format is None,
        lambda x: "no elements",
        reactions(mlx=COPIES, pyarrow=COPIES),
        lambda x: "There are no elements, but a data pointer; dlpack.h recommends NULL.",
        rule="P-41",
    ),
    Case(
        "empty, with odd strides",
        "",
        lambda x: (
            x.layout is not None
            and x.layout.size == 0
            and not x.layout.is_row_major(strict=True)
            and not x.layout.is_column_major(strict=True)
        ),
        lambda x: "no elements, and strides other than those of compact memory",
        reactions(mxnet="MXNetError", mpi4py="BufferError"),
    ),
    Case(
        "rank 0",
        "note",
        lambda x: x.ndim == 0,
        lambda x: "no dimensions",
        reactions(warp="IndexError"),
        lambda x: "It has no dimensions: one element.",
    ),
    Case(
        "byte offset",
        "risk",
        lambda x: x.byte_offset != 0 and (x.device is None or x.device[0] in devices.HOST),
        lambda x: f"the byte offset of {x.byte_offset}",
        reactions(
            tensorflow="InvalidArgumentError",
            mxnet=WRONG,
            dpnp=WRONG,
            paddle=WRONG,
            onnxruntime=WRONG,
            warp=WRONG,
        ),
        lambda x: f"The first element is {plural(x.byte_offset, 'byte')} after the data pointer.",
    ),
    Case(
        "byte offset on a device",
        "risk",
        lambda x: x.byte_offset != 0 and x.device is not None and x.device[0] not in devices.HOST,
        lambda x: f"the byte offset of {x.byte_offset}",
        reactions(
            tensorflow="InvalidArgumentError",
            mxnet=WRONG,
            paddle=UNKNOWN,
            onnxruntime=UNKNOWN,
            warp=UNKNOWN,
        ),
        lambda x: f"The first element is {plural(x.byte_offset, 'byte')} after the data pointer.",
    ),
    Case(
        "byte offset in an element",
        "risk",
        lambda x: x.element_bytes > 0 and x.byte_offset % x.element_bytes != 0,
        lambda x: "the byte offset is no multiple of the element size",
        reactions(torch="ValueError"),
        lambda x: f"The byte offset of {x.byte_offset} is no multiple of the element size.",
    ),
    Case(
        "alignment",
        "note",
        lambda x: 0 < x.alignment < 64 and x.is_host,
        lambda x: f"aligned to {x.alignment}, requires 64",
        reactions(jax=COPIES, tensorflow=CRASHES_IN_USE),
        lambda x: (
            f"The first element is aligned to {plural(x.alignment, 'byte')}; "
            "some consumers need 64."
        ),
    ),
    Case(
        "alignment of elements",
        "risk",
        lambda x: (
            x.is_host
            and has_elements(x)
            and x.dtype is not None
            and 0 < x.alignment < min(x.element_bytes, 8)
            and x.element_bytes % x.alignment == 0
        ),
        lambda x: f"aligned to {x.alignment}, elements of {x.element_bytes} bytes",
        reactions(),
        lambda x: (
            f"Elements of {x.element_bytes} bytes are aligned to {x.alignment}: undefined "
            "behaviour in C, and some vector instructions fail."
        ),
        rule="P-14",
    ),
]

# Cases that consumers examine last.
REST = [
    Case(
        "deleter NULL",
        "risk",
        lambda x: x.deleter_is_null is True,
        lambda x: "the deleter is NULL",
        reactions(jax=CRASHES_ON_RELEASE, dpnp=CRASHES_ON_RELEASE, onnxruntime=CRASHES_ON_RELEASE),
        lambda x: "The deleter is NULL, which is allowed.",
    ),
    Case(
        "read-only",
        "note",
        lambda x: x.read_only is True,
        lambda x: "read-only",
        reactions(
            torch=WRITABLE,
            tvm_ffi=WRITABLE,
            mpi4py=SEND_ONLY,
            paddle=WRITABLE,
            nanobind="TypeError",
        ),
        lambda x: "It is read-only.",
        repair="pass a copy to a consumer that writes: dlbridge.from_dlpack(x, copy=True)",
    ),
    Case(
        "padded without need",
        "note",
        lambda x: bool((x.flags or 0) & abi.SUBBYTE_PADDED) and x.element_bits % 8 == 0,
        lambda x: "marked as padded",
        reactions(tvm_ffi="RuntimeError"),
        lambda x: "It is marked as padded, but its elements are whole bytes.",
        rule="S-06",
    ),
]
