# SPDX-License-Identifier: BSD-3-Clause
"""The known defects of Paddle."""

from __future__ import annotations

from ...conformance.rules import texts as t
from ..defect import Defect, refused

SEEN = "3.3.1"

ROWS = [
    Defect(
        "paddle-byte-offset",
        "paddle",
        SEEN,
        "wrong",
        "unsound",
        (t.BYTE_OFFSET, t.OFFSET),
        "The byte offset is ignored: values before the tensor are read.",
        "Slices of MLX, dpnp and tvm-ffi.",
        "Convert with dlbridge: it exports the address of the first element, and no offset.",
        """
        import paddle, ctypes_tensors
        print(paddle.from_dlpack(ctypes_tensors.Producer(byte_offset=16)).tolist())
        """,
        "[0.0, 1.0, 2.0, 3.0]",
        """
        import ctypes_tensors, dlbridge, paddle
        x = ctypes_tensors.Producer(byte_offset=16)
        assert paddle.from_dlpack(dlbridge.from_dlpack(x)).tolist() == [4, 5, 6, 7]
        """,
        found_by=("C-09",),
        seen_as=r": wrong: .*byte_offset",
    ),
    Defect(
        "paddle-negative-strides",
        "paddle",
        SEEN,
        "wrong",
        "unsound",
        (t.STRIDES, t.STRIDED),
        "Negative strides are accepted, but read incorrectly.",
        "Flipped NumPy arrays become garbage or a MemoryError.",
        "Copy with dlbridge: paddle.from_dlpack(dlbridge.from_dlpack(x, copy=True)).",
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
        found_by=("C-36",),
        seen_as=r"backwards: .*Fail to alloc memory",
    ),
    Defect(
        "paddle-device-number",
        "paddle",
        SEEN,
        "wrong",
        "should",
        (t.DEVICE_PAIR, t.ONLY_DLPACK),
        "__dlpack_device__() of CPU tensors is (1, None): the index is not an integer.",
        "Consumers that read the index: JAX, Warp and mpi4py.",
        "Convert with dlbridge: it reads the capsule, and returns (1, 0).",
        """
        import paddle
        print(paddle.zeros([1]).__dlpack_device__()[1])
        """,
        "None",
        """
        import dlbridge, paddle
        assert dlbridge.from_dlpack(paddle.zeros([1])).__dlpack_device__() == (1, 0)
        """,
        found_by=("P-02",),
        seen_as=r"__dlpack_device__\(\) returns",
    ),
    Defect(
        "paddle-missing-device",
        "paddle",
        SEEN,
        "crash",
        "unsound",
        (t.DEVICE, t.UNSUPPORTED_DEVICE),
        "A CUDA tensor crashes a build for the CPU.",
        "A CPU wheel with a producer on a GPU.",
        "Check the device first: dlbridge.from_dlpack(x).device.",
        """
        import paddle, ctypes_tensors
        paddle.from_dlpack(ctypes_tensors.Producer(device=(2, 0)))
        """,
        "SIGSEGV",
        """
        import ctypes_tensors, dlbridge
        assert dlbridge.from_dlpack(ctypes_tensors.Producer(device=(2, 0))).device == "cuda:0"
        """,
        found_by=("C-14", "C-21", "S-01", "S-02"),
    ),
    Defect(
        "paddle-read-only",
        "paddle",
        SEEN,
        "writable",
        "permitted",
        (t.READ_ONLY_IGNORED,),
        "Paddle has no read-only tensors: it ignores the flag on import; the result is writable.",
        "Operations in place change read-only NumPy and Arrow arrays.",
        "Copy data that must not change: dlbridge.from_dlpack(x, copy=True).",
        """
        import paddle, ctypes_tensors
        capsule = ctypes_tensors.capsule(version=(1, 0), flags=1)
        shared = ctypes_tensors.contents(capsule).tensor.data
        class Once(ctypes_tensors.Producer):
            def __dlpack__(self, **keywords):
                return capsule
        paddle.from_dlpack(Once()).fill_(9.0)
        print("it now holds", ctypes_tensors.C.c_float.from_address(shared).value)
        """,
        "it now holds 9.0",
        """
        import dlbridge, paddle
        constant = b"abc"
        paddle.from_dlpack(dlbridge.as_tensor(constant, copy=True)).fill_(9)
        assert constant == b"abc"
        """,
        remark="The array API prefers this to an exception.",
        found_by=("C-13",),
        seen_as=r"read-only: writable: .*writing to its array",
    ),
    Defect(
        "paddle-table-any-version",
        "paddle",
        SEEN,
        "accepted",
        "hardening",
        (t.MAJOR,),
        "Its exchange table accepts tensors of major version 2, whose fields are unknown.",
        "Garbage is read once producers of a later DLPack exist.",
        "dlbridge exports version 1, and refuses any other on import.",
        """
        import ctypes as C, paddle, ctypes_tensors
        pointer = C.PYFUNCTYPE(C.c_void_p, C.py_object, C.c_char_p)(
            ("PyCapsule_GetPointer", C.pythonapi))
        table = pointer(paddle.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
        slots = (C.c_void_p * 7).from_address(table)  # version, prev_api, then five functions
        to_object = C.PYFUNCTYPE(C.c_int, C.c_void_p, C.c_void_p)(slots[4])
        capsule, result = ctypes_tensors.capsule(version=(2, 0)), C.c_void_p()
        taken = to_object(C.addressof(ctypes_tensors.contents(capsule)), C.byref(result))
        print("accepted" if taken == 0 else "refused")
        """,
        "accepted",
        refused("ctypes_tensors.capsule(version=(2, 0))"),
        found_by=("S-18",),
    ),
    Defect(
        "paddle-table-stream",
        "paddle",
        SEEN,
        "crash",
        "hardening",
        (t.TABLE_STREAM_FAILURE,),
        "The exchange table of a build for the CPU crashes the process on a request of the "
        "stream of a CUDA device.",
        "Consumers that request the stream of every table.",
        "dlbridge requests only the stream of the tensor's own device.",
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
        remark="A build for the CPU has no tensor there, so no consumer needs the stream.",
    ),
    Defect(
        "paddle-null-context",
        "paddle",
        SEEN,
        "leak",
        "unsound",
        (t.NULL_CONTEXT, t.BORROWING),
        "The deleter of a tensor whose manager_ctx is NULL is never called.",
        "Tensors of producers that leave the context NULL, as dlpack.h allows, leak.",
        "Convert with dlbridge: its exports always have a context.",
        """
        import ctypes_tensors, paddle
        x = paddle.from_dlpack(ctypes_tensors.Producer())
        del x
        print(len(ctypes_tensors.freed))
        """,
        "0",
        """
        import ctypes_tensors, dlbridge, paddle
        x = paddle.from_dlpack(dlbridge.from_dlpack(ctypes_tensors.Producer()))
        del x
        assert len(ctypes_tensors.freed) == 1
        """,
        found_by=("C-07",),
    ),
    Defect(
        "paddle-shared-memory",
        "paddle",
        SEEN,
        "leak",
        "unsound",
        (t.BORROWING,),
        "Of two tensors imported from the same memory only one is freed.",
        "An array that is imported twice at the same time is never freed.",
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
        found_by=("X-08",),
    ),
]
