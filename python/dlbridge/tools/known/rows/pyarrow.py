"""The known defects of PyArrow."""

from __future__ import annotations

from dlbridge.tools.known.defect import Defect, refused

SEEN = "26.0.1"

ROWS = [
    Defect(
        "pyarrow-immutable-written",
        "pyarrow",
        SEEN,
        "writable",
        "Legacy capsules of immutable arrays are given out, and cannot say that they are.",
        "JAX, TVM and others that ask for legacy capsules can change an Arrow array.",
        "dlbridge.from_dlpack(x) takes the versioned one, keeps its mark, and gives no legacy one.",
        """
        import pyarrow, by_hand
        x = pyarrow.array([1, 2, 3])
        data = by_hand.contents(x.__dlpack__()).tensor.data
        by_hand.C.c_int64.from_address(data).value = 9
        print(x.to_pylist())
        """,
        "[9, 2, 3]",
        """
        import dlbridge, pyarrow
        t = dlbridge.from_dlpack(pyarrow.array([1, 2, 3]))
        assert t.readonly
        try:
            t.__dlpack__()
        except BufferError:
            pass
        else:
            raise AssertionError
        """,
        ("P-22", "inspect"),
    ),
    Defect(
        "pyarrow-device-text",
        "pyarrow",
        SEEN,
        "refused",
        "Tensor.from_dlpack(x, device='cpu') sends the text as dl_device, where a pair is due.",
        "Every producer that reads the keyword refuses it.",
        "Leave the keyword out, and ask dlbridge: dlbridge.from_dlpack(x, device='cpu').",
        """
        import pyarrow, by_hand
        class Asked(by_hand.Producer):
            def __dlpack__(self, *, dl_device=None, **keywords):
                print(repr(dl_device))
                return super().__dlpack__(**keywords)
        pyarrow.Tensor.from_dlpack(Asked(), device="cpu")
        """,
        "'cpu'",
        """
        import by_hand, dlbridge, pyarrow
        x = dlbridge.from_dlpack(by_hand.Producer(), device="cpu")
        assert pyarrow.Tensor.from_dlpack(x).shape == (4,)
        """,
        found_by=("S-11",),
    ),
    Defect(
        "pyarrow-no-memory",
        "pyarrow",
        SEEN,
        "wrong",
        "Elements at the address NULL are accepted; their NumPy view is uninitialised memory.",
        "The values of a broken producer are whatever lay there, where an error was due.",
        "Let dlbridge.from_dlpack read what you do not trust: it checks first, and raises.",
        """
        import pyarrow, by_hand
        print(pyarrow.Tensor.from_dlpack(by_hand.Producer(data=False)).shape)
        """,
        "(4,)",
        refused("by_hand.Producer(data=False)"),
    ),
    Defect(
        "pyarrow-versioned-only",
        "pyarrow",
        SEEN,
        "refused",
        "It takes versioned capsules only, and does not ask again in the old way.",
        "Arrays of JAX, TensorFlow and MLX, and of everything older.",
        "Go through dlbridge: it takes either kind, and gives versioned ones.",
        """
        import pyarrow, by_hand
        try:
            pyarrow.Tensor.from_dlpack(by_hand.Producer(legacy=True))
        except ValueError:
            print("refused")
        """,
        "refused",
        """
        import by_hand, dlbridge, pyarrow
        x = dlbridge.from_dlpack(by_hand.Producer(legacy=True))
        assert pyarrow.Tensor.from_dlpack(x).shape == (4,)
        """,
        ("C-01",),
    ),
]
