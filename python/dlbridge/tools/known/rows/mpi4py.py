# SPDX-License-Identifier: BSD-3-Clause
"""The known defects of mpi4py."""

from __future__ import annotations

from ...conformance.rules import texts as t
from ..defect import Defect, changed, refused

SEEN = "4.1.2"

ROWS = [
    Defect(
        "mpi4py-any-version",
        "mpi4py",
        SEEN,
        "accepted",
        "must",
        (t.MAJOR,),
        "It accepts tensors of major version 2, whose fields are unknown.",
        "Garbage is sent once producers of a later DLPack exist.",
        "Convert with dlbridge: it exports version 1, and refuses any other on import.",
        changed(
            "version",
            2,
            """
            import mpi4py
            mpi4py.rc.initialize = False
            from mpi4py import MPI
            print(MPI.buffer(Producer()).nbytes, "bytes")
            """,
        ),
        "16 bytes",
        refused("ctypes_tensors.capsule(version=(2, 0))"),
        found_by=("C-04",),
    ),
    Defect(
        "mpi4py-versioned-only",
        "mpi4py",
        SEEN,
        "refused",
        "should",
        (t.BOTH_STRUCTS, t.VERIFY_VERSION),
        "It requests a versioned capsule, and refuses a legacy one.",
        "Arrays of JAX, TensorFlow and MLX.",
        "Convert with dlbridge: it imports both kinds, and exports versioned ones.",
        """
        import mpi4py, numpy
        mpi4py.rc.initialize = False
        from mpi4py import MPI
        class Legacy:
            def __dlpack__(self, **keywords):
                return numpy.zeros(4).__dlpack__()
            def __dlpack_device__(self):
                return (1, 0)
        try:
            MPI.buffer(Legacy())
        except BufferError:
            print("refused")
        """,
        "refused",
        """
        import mpi4py
        mpi4py.rc.initialize = False
        from mpi4py import MPI
        import ctypes_tensors, dlbridge
        x = dlbridge.from_dlpack(ctypes_tensors.Producer(legacy=True))
        assert MPI.buffer(x).address == x.data_ptr
        """,
        found_by=("C-03",),
        seen_as=r"invalid capsule object",
    ),
]
