# SPDX-License-Identifier: BSD-3-Clause
"""The known defects of cuda.core."""

from __future__ import annotations

from dlbridge.tools.conformance.rules import texts as t
from dlbridge.tools.known.defect import Defect, refused

ROWS = [
    Defect(
        "cuda.core-any-version",
        "cuda.core",
        "1.2.2",
        "accepted",
        "must",
        (t.MAJOR,),
        "StridedMemoryView accepts tensors of major version 2, whose fields are unknown.",
        "Garbage is read once producers of a later DLPack exist.",
        "Convert with dlbridge: it exports version 1, and refuses any other on import.",
        """
        import ctypes_tensors
        from cuda.core.utils import StridedMemoryView
        view = StridedMemoryView.from_dlpack(ctypes_tensors.Producer(version=(2, 0)), stream_ptr=-1)
        print(view.shape)
        """,
        "(4,)",
        refused("ctypes_tensors.capsule(version=(2, 0))"),
        found_by=("C-04",),
    ),
]
