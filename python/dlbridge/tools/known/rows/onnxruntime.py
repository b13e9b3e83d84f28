"""The known defects of ONNX Runtime."""

from __future__ import annotations

from dlbridge.tools.known.defect import Defect, refused

SEEN = "1.31.1"

ROWS = [
    Defect(
        "onnxruntime-use-after-free",
        "onnxruntime",
        SEEN,
        "freed",
        "A capsule of an OrtValue over a NumPy array keeps neither of the two.",
        "Values change, or the process ends, once the array that was exported is gone.",
        "Keep the OrtValue, or its array, as long as anybody uses the tensor; nothing tells a "
        "consumer, so that dlbridge cannot keep it for you, but it can copy: copy=True.",
        """
        import numpy, onnxruntime, weakref
        class Array(numpy.ndarray):
            pass
        a = numpy.zeros(6, "float32").view(Array)
        gone = weakref.ref(a)
        value = onnxruntime.OrtValue.ortvalue_from_numpy(a)
        x = numpy.from_dlpack(value)
        del value, a
        print("freed while it is used" if gone() is None else "kept")
        """,
        "freed while it is used",
        """
        import dlbridge, numpy, onnxruntime
        a = numpy.ones(6, "float32")
        value = onnxruntime.OrtValue.ortvalue_from_numpy(a)
        t = dlbridge.from_dlpack(value, copy=True)
        assert t.data_ptr != a.ctypes.data
        del value, a
        assert memoryview(t).tolist() == [1] * 6
        """,
        found_by=("X-07",),
    ),
    Defect(
        "onnxruntime-byte-offset",
        "onnxruntime",
        SEEN,
        "wrong",
        "The byte offset is ignored: the values are those before the tensor.",
        "Slices of MLX, dpnp and tvm-ffi.",
        "Go through dlbridge: it exports the address of the first element, and no offset.",
        """
        import onnxruntime, by_hand
        print(onnxruntime.OrtValue.from_dlpack(by_hand.Producer(byte_offset=16)).numpy())
        """,
        "[0. 1. 2. 3.]",
        """
        import by_hand, dlbridge, onnxruntime
        x = dlbridge.from_dlpack(by_hand.Producer(byte_offset=16))
        assert onnxruntime.OrtValue.from_dlpack(x).numpy().tolist() == [4, 5, 6, 7]
        """,
        ("C-09",),
    ),
    Defect(
        "onnxruntime-null-deleter",
        "onnxruntime",
        SEEN,
        "crash",
        "A tensor without a deleter ends the process when the value goes.",
        "Producers of memory that lives forever, which may leave the deleter out.",
        "Go through dlbridge: what it exports has a deleter always.",
        """
        import onnxruntime, by_hand
        value = onnxruntime.OrtValue.from_dlpack(by_hand.Producer(deleter=False))
        del value
        """,
        "SIGABRT",
        """
        import by_hand, dlbridge, onnxruntime
        x = dlbridge.from_dlpack(by_hand.Producer(deleter=False))
        value = onnxruntime.OrtValue.from_dlpack(x)
        assert value.numpy().tolist() == [0, 1, 2, 3]
        del value
        """,
        ("X-06",),
    ),
    Defect(
        "onnxruntime-negative-ndim",
        "onnxruntime",
        SEEN,
        "crash",
        "A capsule with a negative number of dimensions ends the process.",
        "A broken producer kills the interpreter where an error was due.",
        "Let dlbridge.from_dlpack read what you do not trust: it checks first, and raises.",
        """
        import onnxruntime, by_hand
        onnxruntime.OrtValue.from_dlpack(by_hand.Producer(ndim=-1))
        """,
        "SIGABRT",
        refused("by_hand.Producer(ndim=-1)"),
        ("C-11",),
    ),
    Defect(
        "onnxruntime-bool-refused",
        "onnxruntime",
        SEEN,
        "refused",
        "Booleans are refused: it knows them only as unsigned bytes.",
        "Masks of NumPy, PyTorch and everybody else.",
        "Send them as uint8, as x.view('uint8') of NumPy, and say so: is_bool_tensor=True.",
        """
        import onnxruntime, by_hand
        try:
            onnxruntime.OrtValue.from_dlpack(by_hand.Producer(dtype=(6, 8, 1)))
        except RuntimeError:
            print("refused")
        """,
        "refused",
        found_by=("C-12",),
    ),
    Defect(
        "onnxruntime-bool-exported",
        "onnxruntime",
        SEEN,
        "wrong",
        "Booleans are exported as unsigned bytes.",
        "Masks become indices: x[mask] picks the elements 0 and 1.",
        "Say it yourself on the other side: numpy.from_dlpack(v).view(bool).",
        """
        import numpy, onnxruntime
        value = onnxruntime.OrtValue.ortvalue_from_numpy(numpy.array([True, False]))
        print(value.data_type(), "arrives as", numpy.from_dlpack(value).dtype)
        """,
        "tensor(bool) arrives as uint8",
        found_by=("P-17",),
    ),
]
