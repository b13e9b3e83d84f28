# SPDX-License-Identifier: BSD-3-Clause
"""The known defects of cuda.core."""

from __future__ import annotations

from ...conformance.rules import texts as t
from ..defect import Defect, changed, refused

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
        changed(
            "version",
            2,
            """
            from cuda.core.utils import StridedMemoryView
            print(StridedMemoryView.from_dlpack(Producer(), stream_ptr=-1).shape)
            """,
        ),
        "(4,)",
        refused("ctypes_tensors.capsule(version=(2, 0))"),
        found_by=("C-04",),
        title="StridedMemoryView accepts DLManagedTensorVersioned of major version 2",
    ),
]
