"""The known defects of cuda.core."""

from __future__ import annotations

from dlbridge.tools.known.defect import Defect, refused

ROWS = [
    Defect(
        "cuda.core-any-version",
        "cuda.core",
        "1.2.2",
        "accepted",
        "StridedMemoryView takes tensors of major version 2, whose fields nobody knows.",
        "Garbage, once a producer of a later DLPack is there.",
        "Go through dlbridge: it gives version 1, and refuses any other on the way in.",
        """
        import by_hand
        from cuda.core.utils import StridedMemoryView
        view = StridedMemoryView.from_dlpack(by_hand.Producer(version=(2, 0)), stream_ptr=-1)
        print(view.shape)
        """,
        "(4,)",
        refused("by_hand.capsule(version=(2, 0))"),
        ("C-04",),
    ),
]
