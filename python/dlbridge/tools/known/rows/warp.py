# SPDX-License-Identifier: BSD-3-Clause
"""The known defects of Warp."""

from __future__ import annotations

from ...conformance.rules import texts as t
from ..defect import Defect, changed, refused

SEEN = "1.19.0"

ROWS = [
    Defect(
        "warp-byte-offset",
        "warp",
        SEEN,
        "wrong",
        "unsound",
        (t.BYTE_OFFSET, t.OFFSET),
        "The byte offset is ignored: values before the tensor are read.",
        "Slices of MLX, dpnp and tvm-ffi.",
        "Convert with dlbridge: it exports the address of the first element, and no offset.",
        changed(
            "byte_offset",
            16,
            """
            import warp
            warp.init()
            print(warp.from_dlpack(capsule).numpy())
            """,
        ),
        "[0. 1. 2. 3.]",
        """
        import ctypes_tensors, dlbridge, warp
        warp.init()
        x = ctypes_tensors.capsule(byte_offset=16)
        assert warp.from_dlpack(dlbridge.from_dlpack(x)).numpy().tolist() == [4, 5, 6, 7]
        """,
        found_by=("C-09",),
        seen_as=r": wrong: .*byte_offset",
        upstream="https://github.com/NVIDIA/warp/pull/1573",
    ),
    Defect(
        "warp-lanes",
        "warp",
        SEEN,
        "wrong",
        "unsound",
        (t.DTYPE_EXAMPLES, t.STRIDES),
        "The strides of vector types are interpreted as strides of their lanes.",
        "Vectors overlap: of three float2 only four numbers are read.",
        "Pass such tensors without lanes, with one more dimension.",
        changed(
            "lanes",
            2,
            """
            import warp
            warp.init()
            print(warp.from_dlpack(capsule).numpy().tolist())
            """,
        ),
        "[[0.0, 1.0], [1.0, 2.0], [2.0, 3.0], [3.0, 4.0]]",
        """
        import ctypes_tensors, dlbridge
        t = dlbridge.from_dlpack(ctypes_tensors.capsule(shape=(3,), dtype=(2, 32, 2)))
        assert (t.dtype.lanes, t.nbytes) == (2, 24)
        """,
        found_by=("C-12",),
    ),
    Defect(
        "warp-rank-0-refused",
        "warp",
        SEEN,
        "refused",
        "should",
        (t.STRIDES_OF_SCALARS, t.STRIDED),
        "Tensors of rank 0 raise IndexError.",
        "Sums and other single values.",
        "Call x.reshape(1) first.",
        """
        import numpy, warp
        warp.init()
        try:
            warp.from_dlpack(numpy.zeros(()))
        except IndexError:
            print("IndexError")
        """,
        "IndexError",
        found_by=("C-25",),
        seen_as=r"rank 0: refused: IndexError",
    ),
    Defect(
        "warp-destructor",
        "warp",
        SEEN,
        "crash",
        "unsound",
        (t.CAPSULE, t.PENDING_ERROR),
        "A capsule that is dropped while an exception is pending crashes the process.",
        "An exception between x.__dlpack__() and the use of an unnamed capsule.",
        "dlbridge consumes capsules at once, and its own preserve the exception.",
        """
        import warp
        x = warp.zeros(4, device="cpu")
        try:
            (x.__dlpack__(), 1 / 0)
        except ZeroDivisionError:
            print("caught")
        """,
        "SIGSEGV",
        """
        import dlbridge, warp
        x = dlbridge.from_dlpack(warp.zeros(4, device="cpu"))
        try:
            (x.__dlpack__(), 1 / 0)
        except ZeroDivisionError:
            pass
        """,
        found_by=("X-02",),
        seen_as=r"loses the exception",
    ),
    Defect(
        "warp-versioned-refused",
        "warp",
        SEEN,
        "refused",
        "should",
        (t.BOTH_STRUCTS,),
        "It imports and exports legacy capsules only.",
        "Versioned capsules raise TypeError; PyArrow refuses its arrays.",
        "Convert with dlbridge: it imports both kinds, and exports the requested one.",
        """
        import numpy, warp
        warp.init()
        try:
            warp.from_dlpack(numpy.zeros(4).__dlpack__(max_version=(1, 0)))
        except TypeError:
            print("refused")
        """,
        "refused",
        """
        import ctypes_tensors, dlbridge, warp
        warp.init()
        x = dlbridge.from_dlpack(ctypes_tensors.capsule(version=(1, 0)))
        assert warp.from_dlpack(x).numpy().tolist() == [0, 1, 2, 3]
        """,
        found_by=("P-05",),
    ),
    Defect(
        "warp-no-memory",
        "warp",
        SEEN,
        "wrong",
        "hardening",
        (t.DATA, t.EMPTY),
        "Data at the address NULL is accepted; its NumPy view is uninitialised memory.",
        "A broken producer gives arbitrary values where an exception is expected.",
        "Import untrusted tensors with dlbridge.from_dlpack: it checks them, and raises.",
        changed(
            "data",
            None,
            """
            import warp
            warp.init()
            print(warp.from_dlpack(capsule).shape)
            """,
        ),
        "(4,)",
        refused("ctypes_tensors.capsule(data=False)"),
        found_by=("C-11",),
    ),
    Defect(
        "warp-after-exit",
        "warp",
        SEEN,
        "crash",
        "should",
        (t.AFTER_FINALIZATION,),
        "A deleter that is called after the interpreter's end crashes the process.",
        "C++ code with a global variable that owns a tensor.",
        "Free tensors before the interpreter's end: dlbridge forwards the call.",
        """
        import ctypes as C, signal, warp, ctypes_tensors
        signal.alarm(20)  # the deleter is freed code: what is called instead may loop
        capsule = warp.zeros(4, device="cpu").__dlpack__()
        C.PYFUNCTYPE(None, C.py_object)(("Py_IncRef", C.pythonapi))(capsule)  # never freed
        tensor = ctypes_tensors.contents(capsule)
        at_exit = C.CDLL(None).__cxa_atexit  # called after the interpreter's end
        at_exit(C.c_void_p(tensor.deleter), C.c_void_p(C.addressof(tensor)), None)
        """,
        "SIGSEGV",
        found_by=("X-05",),
    ),
]
