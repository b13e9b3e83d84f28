"""The known defects of MLX."""

from __future__ import annotations

from dlbridge.tools.known.defect import Defect, refused

SEEN = "0.32.4"

ROWS = [
    Defect(
        "mlx-any-version",
        "mlx",
        SEEN,
        "accepted",
        "It takes tensors of major version 2, whose fields nobody knows.",
        "Garbage, once a producer of a later DLPack is there.",
        "Go through dlbridge: it gives version 1, and refuses any other on the way in.",
        """
        import mlx.core as mx, by_hand
        print(mx.from_dlpack(by_hand.capsule(version=(2, 0))))
        """,
        "array([0, 1, 2, 3], dtype=float32)",
        refused("by_hand.capsule(version=(2, 0))"),
        ("C-04",),
    ),
    Defect(
        "mlx-exception-lost",
        "mlx",
        SEEN,
        "lost",
        "What the producer raises is replaced by a TypeError of its own.",
        "The reason of a refusal never reaches the user.",
        "Go through dlbridge first: it hands on what the producer raises.",
        """
        import mlx.core as mx, by_hand
        class Fails(by_hand.Producer):
            def __dlpack__(self, **keywords):
                raise OSError("the disk is full")
        try:
            mx.from_dlpack(Fails())
        except Exception as raised:
            print(type(raised).__name__, "disk" in str(raised))
        """,
        "TypeError False",
        """
        import by_hand, dlbridge
        class Fails(by_hand.Producer):
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
    ),
    Defect(
        "mlx-legacy-only",
        "mlx",
        SEEN,
        "refused",
        "It answers with a legacy capsule whatever max_version says.",
        "PyArrow and mpi4py refuse its arrays; NumPy makes them read-only because it cannot tell.",
        "Go through dlbridge: it takes either kind, and gives versioned ones.",
        """
        import mlx.core as mx, by_hand
        print(by_hand.name(mx.zeros(3).__dlpack__(max_version=(1, 0))))
        """,
        "dltensor",
        """
        import by_hand, dlbridge, mlx.core as mx
        t = dlbridge.from_dlpack(mx.zeros(3))
        assert by_hand.name(t.__dlpack__(max_version=(1, 0))) == "dltensor_versioned"
        """,
        ("P-05",),
    ),
    Defect(
        "mlx-slices-have-offsets",
        "mlx",
        SEEN,
        "wrong",
        "Slices are exported with a byte offset, which six consumers ignore.",
        "Paddle, MXNet, ONNX Runtime, Warp, dpctl and dpnp get the values before the slice.",
        "Go through dlbridge: it exports the address of the first element, and no offset.",
        """
        import mlx.core as mx, by_hand
        print("offset", by_hand.contents(mx.arange(6.0)[2:].__dlpack__()).tensor.byte_offset)
        """,
        "offset 8",
        """
        import by_hand, dlbridge, mlx.core as mx
        t = dlbridge.from_dlpack(mx.arange(6.0)[2:])
        assert memoryview(t).tolist() == [2, 3, 4, 5]
        assert by_hand.contents(t.__dlpack__()).tensor.byte_offset == 0
        """,
        ("P-14", "inspect"),
    ),
    Defect(
        "mlx-no-memory",
        "mlx",
        SEEN,
        "crash",
        "Elements at the address NULL end the process.",
        "A broken producer kills the interpreter where an error was due.",
        "Let dlbridge.from_dlpack read what you do not trust: it checks first, and raises.",
        """
        import mlx.core as mx, by_hand
        mx.eval(mx.from_dlpack(by_hand.Producer(data=False)))
        """,
        "SIGSEGV",
        refused("by_hand.Producer(data=False)"),
        ("C-11",),
    ),
]
