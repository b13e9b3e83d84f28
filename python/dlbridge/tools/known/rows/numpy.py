"""The known defects of NumPy."""

from __future__ import annotations

from dlbridge.tools.known.defect import Defect, refused

SEEN = "1.23.5 to 2.5.5"

ROWS = [
    Defect(
        "numpy-no-memory",
        "numpy",
        SEEN,
        "wrong",
        "Elements at the address NULL become an array over memory of NumPy's own, uninitialised.",
        "The values of a broken producer are whatever lay there, where an error was due.",
        "Let dlbridge.from_dlpack read what you do not trust: it checks first, and raises.",
        """
        import numpy, by_hand
        x = numpy.from_dlpack(by_hand.Producer(data=False))
        print("accepted, at an address of its own" if x.ctypes.data else "accepted")
        """,
        "accepted, at an address of its own",
        refused("by_hand.Producer(data=False)"),
        ("C-11",),
    ),
    Defect(
        "numpy-error-class",
        "numpy",
        "1.23.5 to 2.4.6",
        "refused",
        "It refuses tensors by RuntimeError where the array API asks for BufferError.",
        "Code that tries the next way on BufferError stops instead.",
        "dlbridge raises BufferError, and says what was expected and what came.",
        """
        import numpy, by_hand
        try:
            numpy.from_dlpack(by_hand.Producer(dtype=(4, 16, 1)))
        except Exception as raised:
            print(type(raised).__name__)
        """,
        "RuntimeError",
    ),
    Defect(
        "numpy-read-only-typeerror",
        "numpy",
        "1.22.4 to 1.23.5",
        "refused",
        "Read-only arrays are refused by TypeError, which consumers read as an old producer.",
        "mpi4py and others ask again in other ways, and end with an error about something else.",
        "dlbridge.as_tensor(memoryview(x)) takes the array by its buffer, mark and all.",
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
        ("P-22", "P-30"),
    ),
]
