"""The known defects of MXNet."""

from __future__ import annotations

from dlbridge.tools.known.defect import Defect

SEEN = "1.9.1"

ROWS = [
    Defect(
        "mxnet-byte-offset",
        "mxnet",
        SEEN,
        "wrong",
        "The byte offset is ignored: the values are those before the tensor.",
        "Slices of MLX, dpnp and tvm-ffi.",
        "Go through dlbridge: it exports the address of the first element, and no offset.",
        """
        import mxnet as mx, by_hand
        print(mx.nd.from_dlpack(by_hand.capsule(byte_offset=16)).asnumpy())
        """,
        "[0. 1. 2. 3.]",
        """
        import by_hand, dlbridge, mxnet as mx
        x = by_hand.capsule(byte_offset=16)
        assert mx.nd.from_dlpack(dlbridge.to_dlpack(x)).asnumpy().tolist() == [4, 5, 6, 7]
        """,
        ("C-09",),
    ),
    Defect(
        "mxnet-destructor",
        "mxnet",
        SEEN,
        "crash",
        "A capsule that is dropped while an exception is on its way ends the process.",
        "Any error between to_dlpack_for_read() and its use, where nobody has a name for it.",
        "Give the capsule to dlbridge.from_dlpack at once; dlbridge's own keep the exception.",
        """
        import mxnet as mx
        x = mx.nd.ones(4)
        try:
            (x.to_dlpack_for_read(), 1 / 0)
        except ZeroDivisionError:
            print("caught")
        """,
        "exit status 255",  # MXNet catches SIGSEGV, says so, and exits
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
        "Its capsules lean on ctypes.pythonapi, which belongs to all: once anybody declares the "
        "arguments of PyCapsule_GetPointer there, capsules that nobody takes are not freed.",
        "Programs that read capsules by the usual recipe of ctypes.",
        "dlbridge reads capsules without ctypes; a capsule that it made of one frees.",
        """
        import ctypes, mxnet as mx, by_hand
        ctypes.pythonapi.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
        capsule = mx.nd.ones(4).to_dlpack_for_read()
        struct = by_hand.contents(capsule)
        calls = []
        count = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(calls.append)
        struct.deleter = ctypes.cast(count, ctypes.c_void_p)
        del struct, capsule
        print("freed", len(calls), "times")
        """,
        "freed 0 times",
    ),
    Defect(
        "mxnet-bool",
        "mxnet",
        SEEN,
        "wrong",
        "Booleans are exported as unsigned integers of one bit, though each takes a byte.",
        "Every consumer refuses them; one that packs bits would read an eighth.",
        "x.astype('uint8') first; dlbridge refuses, and says what came.",
        """
        import mxnet as mx, by_hand
        tensor = by_hand.contents(mx.np.ones(8, dtype="bool").to_dlpack_for_read()).tensor
        print(tensor.code, tensor.bits, tensor.lanes)
        """,
        "1 1 1",
        found_by=("inspect",),
    ),
]
