# SPDX-License-Identifier: BSD-3-Clause
"""The known defects of ONNX Runtime."""

from __future__ import annotations

from ...conformance.rules import texts as t
from ..defect import Defect, changed, refused

SEEN = "1.31.1"

ROWS = [
    Defect(
        "onnxruntime-use-after-free",
        "onnxruntime",
        SEEN,
        "freed",
        "unsound",
        (t.BORROWING,),
        "A capsule of an OrtValue over a NumPy array keeps neither object alive.",
        "Values change, or the process crashes, after the exported array is freed.",
        "Keep the OrtValue, or its array, as long as the tensor is used; a consumer cannot "
        "detect the error, but dlbridge can copy: copy=True.",
        """
        import numpy, onnxruntime, weakref
        class Array(numpy.ndarray):
            pass
        a = numpy.zeros(6, "float32").view(Array)
        gone = weakref.ref(a)
        value = onnxruntime.OrtValue.ortvalue_from_numpy(a)
        x = numpy.from_dlpack(value)
        del value, a
        print("freed while in use" if gone() is None else "kept")
        """,
        "freed while in use",
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
        "unsound",
        (t.BYTE_OFFSET, t.OFFSET),
        "The byte offset is ignored: values before the tensor are read.",
        "Slices of MLX, dpnp and tvm-ffi.",
        "Convert with dlbridge: it exports the address of the first element, and no offset.",
        changed(
            "byte_offset",
            16,
            """
            import onnxruntime
            print(onnxruntime.OrtValue.from_dlpack(Producer()).numpy())
            """,
        ),
        "[0. 1. 2. 3.]",
        """
        import ctypes_tensors, dlbridge, onnxruntime
        x = dlbridge.from_dlpack(ctypes_tensors.Producer(byte_offset=16))
        assert onnxruntime.OrtValue.from_dlpack(x).numpy().tolist() == [4, 5, 6, 7]
        """,
        found_by=("C-09",),
        seen_as=r": wrong: .*byte_offset",
    ),
    Defect(
        "onnxruntime-null-deleter",
        "onnxruntime",
        SEEN,
        "crash",
        "unsound",
        (t.NULL_DELETER,),
        "A NULL deleter crashes the process when the value is freed.",
        "Producers of static memory, which may omit the deleter.",
        "Convert with dlbridge: its exports always have a deleter.",
        changed(
            "deleter",
            None,
            """
            import onnxruntime
            value = onnxruntime.OrtValue.from_dlpack(Producer())
            del value
            """,
        ),
        "SIGABRT",
        """
        import ctypes_tensors, dlbridge, onnxruntime
        x = dlbridge.from_dlpack(ctypes_tensors.Producer(deleter=False))
        value = onnxruntime.OrtValue.from_dlpack(x)
        assert value.numpy().tolist() == [0, 1, 2, 3]
        del value
        """,
        found_by=("X-06",),
    ),
    Defect(
        "onnxruntime-negative-ndim",
        "onnxruntime",
        SEEN,
        "crash",
        "hardening",
        (t.NDIM,),
        "A capsule with a negative number of dimensions crashes the process.",
        "A broken producer crashes the interpreter where an exception is expected.",
        "Import untrusted tensors with dlbridge.from_dlpack: it checks them, and raises.",
        changed(
            "ndim",
            -1,
            """
            import onnxruntime
            onnxruntime.OrtValue.from_dlpack(Producer())
            """,
        ),
        "SIGABRT",
        refused("ctypes_tensors.Producer(ndim=-1)"),
        found_by=("C-11",),
    ),
    Defect(
        "onnxruntime-bool-refused",
        "onnxruntime",
        SEEN,
        "refused",
        "permitted",
        (t.BOOLEANS,),
        "Booleans are refused: it accepts them only as unsigned bytes.",
        "Masks of NumPy, PyTorch and other libraries.",
        "Pass them as uint8, such as NumPy's x.view('uint8'), with is_bool_tensor=True.",
        """
        import onnxruntime, ctypes_tensors
        try:
            onnxruntime.OrtValue.from_dlpack(ctypes_tensors.Producer(dtype=(6, 8, 1)))
        except RuntimeError:
            print("refused")
        """,
        "refused",
        remark="No standard recommends a dtype to consumers.",
        found_by=("C-26",),
        upstream="https://github.com/microsoft/onnxruntime/issues/24095",
        seen_as=r"Unsupported code 6",
    ),
    Defect(
        "onnxruntime-bool-exported",
        "onnxruntime",
        SEEN,
        "wrong",
        "should",
        (t.BOOLEANS,),
        "Booleans are exported as unsigned bytes.",
        "Masks become indices: x[mask] selects the elements 0 and 1.",
        "Convert the result: numpy.from_dlpack(v).view(bool).",
        """
        import numpy, onnxruntime
        value = onnxruntime.OrtValue.ortvalue_from_numpy(numpy.array([True, False]))
        print(value.data_type(), "arrives as", numpy.from_dlpack(value).dtype)
        """,
        "tensor(bool) arrives as uint8",
        found_by=("P-17",),
        seen_as=r"dtype \(1, 8, 1\) for bool",
    ),
]
