# SPDX-License-Identifier: BSD-3-Clause
"""The known defects of MLX."""

from __future__ import annotations

from ...conformance.rules import texts as t
from ..defect import Defect, changed, refused

SEEN = "0.32.4"

ROWS = [
    Defect(
        "mlx-any-version",
        "mlx",
        SEEN,
        "accepted",
        "must",
        (t.MAJOR,),
        "It accepts tensors of major version 2, whose fields are unknown.",
        "Garbage is read once producers of a later DLPack exist.",
        "Convert with dlbridge: it exports version 1, and refuses any other on import.",
        changed(
            "version",
            2,
            """
            import mlx.core as mx
            print(mx.from_dlpack(capsule))
            """,
        ),
        "array([0, 1, 2, 3], dtype=float32)",
        refused("ctypes_tensors.capsule(version=(2, 0))"),
        found_by=("C-04",),
    ),
    Defect(
        "mlx-exception-lost",
        "mlx",
        SEEN,
        "lost",
        "should",
        (t.FROM_PROPAGATES, t.ONLY_DLPACK),
        "It replaces the producer's exception by a TypeError.",
        "The reason for a refusal never reaches the user.",
        "Import with dlbridge first: it passes the producer's exception on.",
        """
        import mlx.core as mx
        class Fails:
            def __dlpack__(self, **keywords):
                raise OSError("the disk is full")
            def __dlpack_device__(self):
                return (1, 0)
        try:
            mx.from_dlpack(Fails())
        except Exception as raised:
            print(type(raised).__name__, "disk" in str(raised))
        """,
        "TypeError False",
        """
        import ctypes_tensors, dlbridge
        class Fails(ctypes_tensors.Producer):
            def __dlpack__(self, **keywords):
                raise OSError("the disk is full")
        try:
            dlbridge.from_dlpack(Fails())
        except OSError:
            pass
        else:
            raise AssertionError
        """,
        found_by=("S-13",),
        seen_as=r"from_dlpack\(\): incompatible function arguments",
    ),
    Defect(
        "mlx-legacy-only",
        "mlx",
        SEEN,
        "refused",
        "should",
        (t.BOTH_STRUCTS,),
        "It exports a legacy capsule for every max_version.",
        "PyArrow and mpi4py refuse its arrays; NumPy's results are read-only.",
        "Convert with dlbridge: it imports both kinds, and exports versioned ones.",
        """
        import mlx.core as mx
        print(str(mx.zeros(3).__dlpack__(max_version=(1, 0))).split('"')[1])
        """,
        "dltensor",
        """
        import ctypes_tensors, dlbridge, mlx.core as mx
        t = dlbridge.from_dlpack(mx.zeros(3))
        assert ctypes_tensors.name(t.__dlpack__(max_version=(1, 0))) == "dltensor_versioned"
        """,
        found_by=("P-05",),
    ),
    Defect(
        "mlx-slices-have-offsets",
        "mlx",
        SEEN,
        "wrong",
        "permitted",
        (t.OFFSET,),
        "Slices are exported with a byte offset, as dlpack.h describes; six consumers ignore it.",
        "Paddle, MXNet, ONNX Runtime, Warp, dpctl and dpnp read the values before the slice.",
        "Convert with dlbridge: it exports the address of the first element, and no offset.",
        """
        import mlx.core as mx, ctypes_tensors
        print("offset", ctypes_tensors.contents(mx.arange(6.0)[2:].__dlpack__()).tensor.byte_offset)
        """,
        "offset 8",
        """
        import ctypes_tensors, dlbridge, mlx.core as mx
        t = dlbridge.from_dlpack(mx.arange(6.0)[2:])
        assert memoryview(t).tolist() == [2, 3, 4, 5]
        assert ctypes_tensors.contents(t.__dlpack__()).tensor.byte_offset == 0
        """,
        remark="The consumers that ignore the offset are unsound, and not MLX.",
        found_by=("inspect",),
    ),
    Defect(
        "mlx-no-memory",
        "mlx",
        SEEN,
        "crash",
        "hardening",
        (t.DATA, t.EMPTY),
        "Data at the address NULL crashes the process.",
        "A broken producer crashes the interpreter where an exception is expected.",
        "Import untrusted tensors with dlbridge.from_dlpack: it checks them, and raises.",
        changed(
            "data",
            None,
            """
            import mlx.core as mx
            mx.eval(mx.from_dlpack(Producer()))
            """,
        ),
        "SIGSEGV",
        refused("ctypes_tensors.Producer(data=False)"),
        found_by=("C-11",),
    ),
]
