"""The known defects of Warp."""

from __future__ import annotations

from dlbridge.tools.known.defect import Defect, refused

SEEN = "1.19.0"

ROWS = [
    Defect(
        "warp-byte-offset",
        "warp",
        SEEN,
        "wrong",
        "The byte offset is ignored: the values are those before the tensor.",
        "Slices of MLX, dpnp and tvm-ffi.",
        "Go through dlbridge: it exports the address of the first element, and no offset.",
        """
        import warp, by_hand
        warp.init()
        print(warp.from_dlpack(by_hand.capsule(byte_offset=16)).numpy())
        """,
        "[0. 1. 2. 3.]",
        """
        import by_hand, dlbridge, warp
        warp.init()
        x = by_hand.capsule(byte_offset=16)
        assert warp.from_dlpack(dlbridge.from_dlpack(x)).numpy().tolist() == [4, 5, 6, 7]
        """,
        ("C-09",),
    ),
    Defect(
        "warp-lanes",
        "warp",
        SEEN,
        "wrong",
        "The strides of vector types are taken for strides of their lanes.",
        "Vectors overlap: of three float2 only four numbers are read.",
        "Hand such tensors over without lanes, with one dimension more.",
        """
        import warp, by_hand
        warp.init()
        print(warp.from_dlpack(by_hand.capsule(shape=(3,), dtype=(2, 32, 2))).numpy().tolist())
        """,
        "[[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]]",
        """
        import by_hand, dlbridge
        t = dlbridge.from_dlpack(by_hand.capsule(shape=(3,), dtype=(2, 32, 2)))
        assert (t.dtype.lanes, t.nbytes) == (2, 24)
        """,
        ("C-12",),
    ),
    Defect(
        "warp-rank-0-refused",
        "warp",
        SEEN,
        "refused",
        "Tensors of rank 0 raise IndexError.",
        "Sums and other single values.",
        "x.reshape(1) first.",
        """
        import warp, by_hand
        warp.init()
        try:
            warp.from_dlpack(by_hand.capsule(shape=(), strides=()))
        except IndexError:
            print("IndexError")
        """,
        "IndexError",
        found_by=("C-08",),
    ),
    Defect(
        "warp-destructor",
        "warp",
        SEEN,
        "crash",
        "A capsule that is dropped while an exception is on its way ends the process.",
        "Any error between x.__dlpack__() and its use, where nobody has a name for the capsule.",
        "dlbridge takes capsules at once, and its own keep the exception.",
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
        ("X-02",),
    ),
    Defect(
        "warp-versioned-refused",
        "warp",
        SEEN,
        "refused",
        "It takes and gives legacy capsules only.",
        "Versioned capsules are refused by TypeError; PyArrow refuses its arrays.",
        "Go through dlbridge: it takes either kind, and gives what is asked for.",
        """
        import warp, by_hand
        warp.init()
        try:
            warp.from_dlpack(by_hand.capsule(version=(1, 0)))
        except TypeError:
            print("refused")
        """,
        "refused",
        """
        import by_hand, dlbridge, warp
        warp.init()
        x = dlbridge.from_dlpack(by_hand.capsule(version=(1, 0)))
        assert warp.from_dlpack(x).numpy().tolist() == [0, 1, 2, 3]
        """,
        ("C-01",),
    ),
    Defect(
        "warp-no-memory",
        "warp",
        SEEN,
        "wrong",
        "Elements at the address NULL are accepted; their NumPy view is uninitialised memory.",
        "The values of a broken producer are whatever lay there, where an error was due.",
        "Let dlbridge.from_dlpack read what you do not trust: it checks first, and raises.",
        """
        import warp, by_hand
        warp.init()
        print(warp.from_dlpack(by_hand.capsule(data=False)).shape)
        """,
        "(4,)",
        refused("by_hand.capsule(data=False)"),
        ("C-11",),
    ),
    Defect(
        "warp-after-exit",
        "warp",
        SEEN,
        "crash",
        "A deleter that is called after Python has ended ends the process by SIGSEGV.",
        "C++ code with a global that holds a tensor.",
        "Give tensors back before Python ends: dlbridge hands the call on.",
        """
        import ctypes as C, warp, by_hand
        kept = warp.zeros(4, device="cpu").__dlpack__()
        C.PYFUNCTYPE(None, C.py_object)(("Py_IncRef", C.pythonapi))(kept)  # nobody drops it
        tensor = by_hand.contents(kept)
        at_exit = C.CDLL(None).__cxa_atexit  # what is given to it is called after Python's end
        at_exit(C.c_void_p(tensor.deleter), C.c_void_p(C.addressof(tensor)), None)
        """,
        "SIGSEGV",
        found_by=("X-05",),
    ),
]
