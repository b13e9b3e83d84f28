# SPDX-License-Identifier: BSD-3-Clause
"""The known defects of NumPy."""

from __future__ import annotations

from ...conformance.rules import texts as t
from ..defect import Defect, changed, refused

SEEN = "1.23.5 to 2.5.5"

ROWS = [
    Defect(
        "numpy-no-memory",
        "numpy",
        SEEN,
        "wrong",
        "hardening",
        (t.DATA, t.EMPTY),
        "For data at the address NULL it allocates uninitialised memory.",
        "A broken producer gives arbitrary values where an exception is expected.",
        "Import untrusted tensors with dlbridge.from_dlpack: it checks them, and raises.",
        changed(
            "data",
            None,
            """
            x = numpy.from_dlpack(Producer())
            print("accepted, at an address of its own" if x.ctypes.data else "accepted")
            """,
        ),
        "accepted, at an address of its own",
        refused("ctypes_tensors.Producer(data=False)"),
        found_by=("C-11",),
    ),
    Defect(
        "numpy-read-only-typeerror",
        "numpy",
        "1.22.4 to 1.23.5",
        "refused",
        "permitted",
        (t.EXPORT_REFUSED,),
        "Read-only arrays raise TypeError, which consumers interpret as an old producer.",
        "mpi4py and others call again with other keywords, and report an unrelated error.",
        "dlbridge.as_tensor(memoryview(x)) imports the buffer, as read-only.",
        """
        import numpy
        x = numpy.zeros(3)
        x.flags.writeable = False
        try:
            x.__dlpack__()
        except Exception as raised:
            print(type(raised).__name__)
        """,
        "TypeError",
        """
        import dlbridge, numpy
        x = numpy.zeros(3)
        x.flags.writeable = False
        assert dlbridge.as_tensor(memoryview(x)).readonly
        """,
        remark="These releases are older than the sentence.",
        found_by=("P-30",),
        fixed_in="1.24.0",
        upstream="https://github.com/numpy/numpy/issues/20742",
        seen_as=r"only supports dlpack for writeable arrays",
    ),
]
