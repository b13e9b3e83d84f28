"""The known defects of Paddle."""

from __future__ import annotations

from dlbridge.tools.known.defect import Defect, refused

SEEN = "3.3.1"

ROWS = [
    Defect(
        "paddle-byte-offset",
        "paddle",
        SEEN,
        "wrong",
        "The byte offset is ignored: the values are those before the tensor.",
        "Slices of MLX, dpnp and tvm-ffi.",
        "Go through dlbridge: it exports the address of the first element, and no offset.",
        """
        import paddle, by_hand
        print(paddle.from_dlpack(by_hand.Producer(byte_offset=16)).tolist())
        """,
        "[0.0, 1.0, 2.0, 3.0]",
        """
        import by_hand, dlbridge, paddle
        x = by_hand.Producer(byte_offset=16)
        assert paddle.from_dlpack(dlbridge.from_dlpack(x)).tolist() == [4, 5, 6, 7]
        """,
        ("C-09",),
    ),
    Defect(
        "paddle-negative-strides",
        "paddle",
        SEEN,
        "wrong",
        "Negative strides are taken, and then read as something else.",
        "Flipped NumPy arrays become garbage or a MemoryError.",
        "Copy on the way: paddle.from_dlpack(dlbridge.from_dlpack(x, copy=True)).",
        """
        import numpy, paddle
        try:
            print(paddle.from_dlpack(numpy.arange(3.0)[::-1]).numpy().tolist() == [2, 1, 0])
        except MemoryError:
            print(False)
        """,
        "False",
        """
        import dlbridge, numpy, paddle
        x = dlbridge.from_dlpack(numpy.arange(3.0)[::-1], copy=True)
        assert paddle.from_dlpack(x).numpy().tolist() == [2, 1, 0]
        """,
        ("C-10",),
    ),
    Defect(
        "paddle-device-number",
        "paddle",
        SEEN,
        "wrong",
        "__dlpack_device__() of CPU tensors is (1, None): the second is no number.",
        "Consumers that read the number, as JAX, Warp and mpi4py do.",
        "Go through dlbridge: it believes the capsule, and says (1, 0).",
        """
        import paddle
        print(paddle.zeros([1]).__dlpack_device__()[1])
        """,
        "None",
        """
        import dlbridge, paddle
        assert dlbridge.from_dlpack(paddle.zeros([1])).__dlpack_device__() == (1, 0)
        """,
        ("P-02",),
    ),
    Defect(
        "paddle-missing-device",
        "paddle",
        SEEN,
        "crash",
        "A build for the CPU that is given a CUDA tensor ends the process.",
        "The wrong wheel next to a producer on a GPU.",
        "Look at the device first: dlbridge.from_dlpack(x).device.",
        """
        import paddle, by_hand
        paddle.from_dlpack(by_hand.Producer(device=(2, 0)))
        """,
        "SIGSEGV",
        """
        import by_hand, dlbridge
        assert dlbridge.from_dlpack(by_hand.Producer(device=(2, 0))).device == "cuda:0"
        """,
        ("C-14", "S-01", "S-03"),
    ),
    Defect(
        "paddle-read-only",
        "paddle",
        SEEN,
        "writable",
        "The read-only mark is ignored on the way in, without a warning.",
        "Read-only NumPy and Arrow arrays are changed by operations in place.",
        "Copy what must not change: dlbridge.from_dlpack(x, copy=True).",
        """
        import paddle, by_hand
        capsule = by_hand.capsule(version=(1, 0), flags=1)
        shared = by_hand.contents(capsule).tensor.data
        class Once(by_hand.Producer):
            def __dlpack__(self, **keywords):
                return capsule
        paddle.from_dlpack(Once()).fill_(9.0)
        print("it now holds", by_hand.C.c_float.from_address(shared).value)
        """,
        "it now holds 9.0",
        """
        import dlbridge, paddle
        constant = b"abc"
        paddle.from_dlpack(dlbridge.as_tensor(constant, copy=True)).fill_(9)
        assert constant == b"abc"
        """,
        ("C-13",),
    ),
    Defect(
        "paddle-table-any-version",
        "paddle",
        SEEN,
        "accepted",
        "Its exchange table takes tensors of major version 2, whose fields nobody knows.",
        "Garbage, once a producer of a later DLPack is there.",
        "dlbridge gives it version 1, and refuses any other on the way in.",
        """
        import ctypes as C, paddle, by_hand
        pointer = C.PYFUNCTYPE(C.c_void_p, C.py_object, C.c_char_p)(
            ("PyCapsule_GetPointer", C.pythonapi))
        table = pointer(paddle.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
        slots = (C.c_void_p * 7).from_address(table)  # version, prev_api, then five functions
        to_object = C.PYFUNCTYPE(C.c_int, C.c_void_p, C.c_void_p)(slots[4])
        capsule, made = by_hand.capsule(version=(2, 0)), C.c_void_p()
        taken = to_object(C.addressof(by_hand.contents(capsule)), C.byref(made))
        print("accepted" if taken == 0 else "refused")
        """,
        "accepted",
        refused("by_hand.capsule(version=(2, 0))"),
        ("S-03",),
    ),
    Defect(
        "paddle-table-stream",
        "paddle",
        SEEN,
        "crash",
        "The exchange table of a build for the CPU ends the process when it is asked for the "
        "stream of a CUDA device.",
        "Consumers that ask every table for its stream.",
        "dlbridge asks a table for the stream of the device where the tensor is, and no other.",
        """
        import ctypes as C, paddle
        pointer = C.PYFUNCTYPE(C.c_void_p, C.py_object, C.c_char_p)(
            ("PyCapsule_GetPointer", C.pythonapi))
        table = pointer(paddle.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
        slots = (C.c_void_p * 7).from_address(table)  # version, prev_api, then five functions
        stream_of = C.PYFUNCTYPE(C.c_int, C.c_int32, C.c_int32, C.c_void_p)(slots[6])
        stream = C.c_void_p()
        stream_of(2, 0, C.byref(stream))
        """,
        "SIGSEGV",
        found_by=("S-03",),
    ),
    Defect(
        "paddle-null-context",
        "paddle",
        SEEN,
        "leak",
        "The deleter of a tensor whose manager_ctx is NULL is never called.",
        "Producers that need no context and leave it NULL, as dlpack.h allows: all of it leaks.",
        "Go through dlbridge: what it exports has a context always.",
        """
        import by_hand, paddle
        x = paddle.from_dlpack(by_hand.Producer())
        del x
        print(len(by_hand.freed))
        """,
        "0",
        """
        import by_hand, dlbridge, paddle
        x = paddle.from_dlpack(dlbridge.from_dlpack(by_hand.Producer()))
        del x
        assert len(by_hand.freed) == 1
        """,
        ("C-07",),
    ),
    Defect(
        "paddle-shared-memory",
        "paddle",
        SEEN,
        "leak",
        "Of two tensors that are imported from the same memory only one is freed.",
        "Whoever imports an array again while the first import is there: the array never goes.",
        "Import once and share the tensor, or import a copy: "
        "paddle.from_dlpack(dlbridge.from_dlpack(x, copy=True)).",
        """
        import numpy, paddle, sys
        a = numpy.zeros(4, "float32")
        before = sys.getrefcount(a)
        x, y = paddle.from_dlpack(a), paddle.from_dlpack(a)
        del x, y
        print("held", sys.getrefcount(a) - before)
        """,
        "held 1",
        """
        import dlbridge, numpy, paddle, sys
        a = numpy.zeros(4, "float32")
        before = sys.getrefcount(a)
        x = paddle.from_dlpack(a)
        y = paddle.from_dlpack(dlbridge.from_dlpack(a, copy=True))
        del x, y
        assert sys.getrefcount(a) == before
        """,
        ("C-07",),
    ),
]
