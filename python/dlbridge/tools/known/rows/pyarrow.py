# SPDX-License-Identifier: BSD-3-Clause
"""The known defects of PyArrow."""

from __future__ import annotations

from ...conformance.rules import texts as t
from ..defect import Defect, changed, refused

SEEN = "26.0.1"

ROWS = [
    Defect(
        "pyarrow-immutable-written",
        "pyarrow",
        SEEN,
        "writable",
        "permitted",
        (t.READ_ONLY_IGNORED,),
        "Immutable arrays are exported in legacy capsules, which have no read-only flag.",
        "JAX, TVM and other consumers of legacy capsules can change an Arrow array.",
        "dlbridge.from_dlpack(x) requests a versioned capsule, and preserves its flag.",
        """
        import pyarrow, ctypes_tensors
        x = pyarrow.array([1, 2, 3])
        data = ctypes_tensors.contents(x.__dlpack__()).tensor.data
        ctypes_tensors.C.c_int64.from_address(data).value = 9
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
        remark="No sentence forbids the export of read-only memory in a legacy capsule.",
        found_by=("P-49", "inspect"),
    ),
    Defect(
        "pyarrow-device-text",
        "pyarrow",
        SEEN,
        "refused",
        "should",
        (t.DEVICE_FORMAT, t.ONLY_DLPACK),
        "Tensor.from_dlpack(x, device='cpu') passes the string as dl_device instead of a pair.",
        "Every producer that reads the keyword refuses it.",
        "Omit the keyword, and use dlbridge: dlbridge.from_dlpack(x, device='cpu').",
        """
        import numpy, pyarrow
        class Printing:
            def __dlpack__(self, *, dl_device=None, **keywords):
                print(repr(dl_device))
                return numpy.zeros(4).__dlpack__(max_version=(1, 0))
            def __dlpack_device__(self):
                return (1, 0)
        pyarrow.Tensor.from_dlpack(Printing(), device="cpu")
        """,
        "'cpu'",
        """
        import ctypes_tensors, dlbridge, pyarrow
        x = dlbridge.from_dlpack(ctypes_tensors.Producer(), device="cpu")
        assert pyarrow.Tensor.from_dlpack(x).shape == (4,)
        """,
        found_by=("S-11",),
    ),
    Defect(
        "pyarrow-no-memory",
        "pyarrow",
        SEEN,
        "wrong",
        "hardening",
        (t.DATA, t.EMPTY),
        "Data at the address NULL is accepted; its NumPy view is uninitialised memory.",
        "A broken producer gives arbitrary values where an exception is expected.",
        "Import untrusted tensors with dlbridge.from_dlpack: it checks them, and raises.",
        changed(
            "data of a versioned tensor",
            None,
            """
            import pyarrow
            print(pyarrow.Tensor.from_dlpack(Producer()).shape)
            """,
        ),
        "(4,)",
        refused("ctypes_tensors.Producer(data=False)"),
        found_by=("C-11",),
    ),
    Defect(
        "pyarrow-versioned-only",
        "pyarrow",
        SEEN,
        "refused",
        "should",
        (t.BOTH_STRUCTS, t.CONSUMER_LOGIC),
        "It accepts versioned capsules only, and has no fallback.",
        "Arrays of JAX, TensorFlow, MLX, and of older versions of other libraries.",
        "Convert with dlbridge: it imports both kinds, and exports versioned ones.",
        """
        import numpy, pyarrow
        class Legacy:
            def __dlpack__(self, **keywords):
                return numpy.zeros(4).__dlpack__()
            def __dlpack_device__(self):
                return (1, 0)
        try:
            pyarrow.Tensor.from_dlpack(Legacy())
        except ValueError:
            print("refused")
        """,
        "refused",
        """
        import ctypes_tensors, dlbridge, pyarrow
        x = dlbridge.from_dlpack(ctypes_tensors.Producer(legacy=True))
        assert pyarrow.Tensor.from_dlpack(x).shape == (4,)
        """,
        found_by=("C-01", "C-03"),
        seen_as=r"PyCapsule_GetPointer called with incorrect name|max_version",
    ),
]
