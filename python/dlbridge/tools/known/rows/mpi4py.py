"""The known defects of mpi4py."""

from __future__ import annotations

from dlbridge.tools.known.defect import Defect, refused

SEEN = "4.1.2"

ROWS = [
    Defect(
        "mpi4py-any-version",
        "mpi4py",
        SEEN,
        "accepted",
        "It takes tensors of major version 2, whose fields nobody knows.",
        "Garbage is sent, once a producer of a later DLPack is there.",
        "Go through dlbridge: it gives version 1, and refuses any other on the way in.",
        """
        import mpi4py
        mpi4py.rc.initialize = False
        from mpi4py import MPI
        import by_hand
        print(MPI.buffer(by_hand.Producer(version=(2, 0))).nbytes, "bytes")
        """,
        "16 bytes",
        refused("by_hand.capsule(version=(2, 0))"),
        ("C-04",),
    ),
    Defect(
        "mpi4py-versioned-only",
        "mpi4py",
        SEEN,
        "refused",
        "It asks for a versioned capsule, and refuses a legacy one that comes instead.",
        "JAX, TensorFlow and MLX.",
        "Go through dlbridge: it takes either kind, and gives versioned ones.",
        """
        import mpi4py
        mpi4py.rc.initialize = False
        from mpi4py import MPI
        import by_hand
        try:
            MPI.buffer(by_hand.Producer(legacy=True))
        except BufferError:
            print("refused")
        """,
        "refused",
        """
        import mpi4py
        mpi4py.rc.initialize = False
        from mpi4py import MPI
        import by_hand, dlbridge
        x = dlbridge.from_dlpack(by_hand.Producer(legacy=True))
        assert MPI.buffer(x).address == x.data_ptr
        """,
        ("C-03",),
    ),
]
