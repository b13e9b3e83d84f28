# SPDX-License-Identifier: BSD-3-Clause
"""The known defects of MXNet."""

from __future__ import annotations

from ...conformance.rules import texts as t
from ..defect import Defect

SEEN = "1.9.1"

ROWS = [
    Defect(
        "mxnet-byte-offset",
        "mxnet",
        SEEN,
        "wrong",
        "unsound",
        (t.BYTE_OFFSET, t.OFFSET),
        "The byte offset is ignored: values before the tensor are read.",
        "Slices of MLX, dpnp and tvm-ffi.",
        "Convert with dlbridge: it exports the address of the first element, and no offset.",
        """
        import mxnet as mx, ctypes_tensors
        print(mx.nd.from_dlpack(ctypes_tensors.capsule(byte_offset=16)).asnumpy())
        """,
        "[0. 1. 2. 3.]",
        """
        import ctypes_tensors, dlbridge, mxnet as mx
        x = ctypes_tensors.capsule(byte_offset=16)
        assert mx.nd.from_dlpack(dlbridge.to_dlpack(x)).asnumpy().tolist() == [4, 5, 6, 7]
        """,
        found_by=("C-09",),
        seen_as=r": wrong: .*byte_offset",
    ),
    Defect(
        "mxnet-destructor",
        "mxnet",
        SEEN,
        "crash",
        "unsound",
        (t.CAPSULE, t.PENDING_ERROR),
        "A capsule that is dropped while an exception is pending crashes the process.",
        "An exception between to_dlpack_for_read() and the use of an unnamed capsule.",
        "Pass the capsule to dlbridge.from_dlpack at once; dlbridge's preserve the exception.",
        """
        import mxnet as mx
        x = mx.nd.ones(4)
        try:
            (x.to_dlpack_for_read(), 1 / 0)
        except ZeroDivisionError:
            print("caught")
        """,
        "exit status 255",  # MXNet handles SIGSEGV and exits
        """
        import dlbridge, mxnet as mx
        x = dlbridge.from_dlpack(mx.nd.ones(4).to_dlpack_for_read())
        try:
            (x.__dlpack__(), 1 / 0)
        except ZeroDivisionError:
            pass
        """,
        found_by=("X-02",),
    ),
    Defect(
        "mxnet-shared-ctypes",
        "mxnet",
        SEEN,
        "leak",
        "outside",
        (),
        "Its capsules use the shared ctypes.pythonapi: once another module declares the "
        "arguments of PyCapsule_GetPointer there, dropped capsules are not freed.",
        "Programs that read capsules with ctypes in the usual way.",
        "dlbridge reads capsules without ctypes, and its own capsules are freed.",
        """
        import ctypes, mxnet as mx, ctypes_tensors
        ctypes.pythonapi.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
        capsule = mx.nd.ones(4).to_dlpack_for_read()
        struct = ctypes_tensors.contents(capsule)
        calls = []
        count = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(calls.append)
        struct.deleter = ctypes.cast(count, ctypes.c_void_p)
        del struct, capsule
        print("freed", len(calls), "times")
        """,
        "freed 0 times",
        remark="Another module changes an object that both share, which no standard describes.",
    ),
    Defect(
        "mxnet-bool",
        "mxnet",
        SEEN,
        "wrong",
        "should",
        (t.BOOLEANS,),
        "Booleans are exported as unsigned integers of one bit, but each occupies a byte.",
        "Every consumer refuses them; one that unpacks bits would read an eighth.",
        "Convert with x.astype('uint8') first; dlbridge refuses, and names the dtype.",
        """
        import mxnet as mx, ctypes_tensors
        tensor = ctypes_tensors.contents(mx.np.ones(8, dtype="bool").to_dlpack_for_read()).tensor
        print(tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes)
        """,
        "1 1 1",
        found_by=("P-17", "inspect"),
        seen_as=r"dtype \(1, 1, 1\) for bool",
    ),
]
