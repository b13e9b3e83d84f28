# SPDX-License-Identifier: BSD-3-Clause
"""The known defects of TensorFlow."""

from __future__ import annotations

from ...conformance.rules import texts as t
from ..defect import Defect, refused

SEEN = "2.21.0"

ROWS = [
    Defect(
        "tensorflow-unaligned",
        "tensorflow",
        SEEN,
        "crash",
        "should",
        (t.NO_ALIGNMENT,),
        "It accepts memory at any address, and its first operation on memory not aligned to "
        "64 bytes crashes the process.",
        "Slices of any library, and NumPy's arrays, which are aligned to 16 bytes.",
        "Copy with dlbridge: dlbridge.to_dlpack(x, copy=True) aligns to 64 bytes.",
        """
        import tensorflow as tf, ctypes_tensors
        t = tf.experimental.dlpack.from_dlpack(ctypes_tensors.capsule(shape=(32,), shift=32))
        t + t
        """,
        "SIGABRT",
        """
        import ctypes_tensors, dlbridge, tensorflow as tf
        x = ctypes_tensors.capsule(shape=(32,), shift=32)
        t = tf.experimental.dlpack.from_dlpack(dlbridge.to_dlpack(x, copy=True))
        assert (t + t).numpy()[31] == 62
        """,
        found_by=("C-15",),
        seen_as=r"IsAligned\(\)",
    ),
    Defect(
        "tensorflow-string-export",
        "tensorflow",
        SEEN,
        "crash",
        "unsound",
        (t.EXPORT_REFUSED,),
        "Exporting a tensor of strings, variants or resources crashes the process.",
        "Programs that export tensors without checking their dtype.",
        "Check x.dtype first; dlbridge makes the same call, which crashes.",
        """
        import tensorflow as tf
        tf.constant("a").__dlpack__()
        """,
        "SIGABRT",
    ),
    Defect(
        "tensorflow-freed-twice",
        "tensorflow",
        SEEN,
        "freed",
        "unsound",
        (t.BORROWING, t.RENAMING),
        "When it refuses a device it frees the tensor without renaming the capsule: the capsule "
        "frees it again.",
        "A double free in the producer, after an exception that was handled.",
        "Check the device first: dlbridge.from_dlpack(x).device.",
        """
        import tensorflow as tf, ctypes_tensors
        capsule = ctypes_tensors.capsule(device=(2, 0))
        try:
            tf.experimental.dlpack.from_dlpack(capsule)
        except tf.errors.InvalidArgumentError:
            pass
        del capsule
        print("freed", len(ctypes_tensors.freed), "times")
        """,
        "freed 2 times",
        """
        import ctypes_tensors, dlbridge
        t = dlbridge.from_dlpack(ctypes_tensors.capsule(device=(2, 0)))
        assert t.device == "cuda:0"
        del t
        assert len(ctypes_tensors.freed) == 1
        """,
        found_by=("C-21",),
    ),
    Defect(
        "tensorflow-lanes",
        "tensorflow",
        SEEN,
        "wrong",
        "unsound",
        (t.DTYPE_EXAMPLES,),
        "Lanes are ignored: of vectors of two floats only the first half of the memory is read.",
        "Producers of vector types, such as float4 in OpenCL.",
        "Check the dtype first: dlbridge.from_dlpack(x).dtype.lanes.",
        """
        import tensorflow as tf, ctypes_tensors
        t = tf.experimental.dlpack.from_dlpack(ctypes_tensors.capsule(shape=(2,), dtype=(2, 32, 2)))
        print(t.numpy())
        """,
        "[0. 1.]",
        """
        import ctypes_tensors, dlbridge
        t = dlbridge.from_dlpack(ctypes_tensors.capsule(shape=(2,), dtype=(2, 32, 2)))
        assert (t.dtype.lanes, t.nbytes) == (2, 16)
        """,
        found_by=("C-12",),
    ),
    Defect(
        "tensorflow-negative-extent",
        "tensorflow",
        SEEN,
        "crash",
        "hardening",
        (t.SHAPE,),
        "A capsule with a negative extent crashes the process.",
        "A broken producer crashes the interpreter where an exception is expected.",
        "Import untrusted tensors with dlbridge.to_dlpack: it checks them, and raises.",
        """
        import tensorflow as tf, ctypes_tensors
        tf.experimental.dlpack.from_dlpack(ctypes_tensors.capsule(shape=(-2,)))
        """,
        "SIGABRT",
        refused("ctypes_tensors.capsule(shape=(-2,))"),
        found_by=("C-11",),
    ),
    Defect(
        "tensorflow-device-request",
        "tensorflow",
        SEEN,
        "refused",
        "should",
        (t.SAME_DEVICE, t.DEVICE_REFUSED, t.ONLY_DLPACK),
        "It raises RuntimeError for every dl_device, also for the tensor's own device.",
        "np.from_dlpack(t, device='cpu').",
        "Convert with dlbridge: it ignores this error for a tensor on the requested device.",
        """
        import tensorflow as tf
        try:
            tf.constant([1.0]).__dlpack__(dl_device=(1, 0))
        except RuntimeError:
            print("refused")
        """,
        "refused",
        """
        import dlbridge, tensorflow as tf
        assert memoryview(dlbridge.from_dlpack(tf.constant([1.0]), device="cpu")).tolist() == [1]
        """,
        found_by=("P-26",),
    ),
    Defect(
        "tensorflow-copy-request",
        "tensorflow",
        SEEN,
        "refused",
        "permitted",
        (t.EXPORT_REFUSED,),
        "It raises RuntimeError for copy=True instead of BufferError.",
        "np.from_dlpack(t, copy=True).",
        "Copy with dlbridge: dlbridge.from_dlpack(dlbridge.from_dlpack(t), copy=True).",
        """
        import tensorflow as tf
        try:
            tf.constant([1.0]).__dlpack__(copy=True)
        except BufferError:
            print("refused as it should be")
        except RuntimeError:
            print("refused by RuntimeError")
        """,
        "refused by RuntimeError",
        """
        import dlbridge, tensorflow as tf
        t = dlbridge.from_dlpack(tf.constant([1.0]))
        copied = dlbridge.from_dlpack(t, copy=True)
        assert copied.data_ptr != t.data_ptr and memoryview(copied).tolist() == [1]
        """,
        remark='"Other errors are raised when export fails for other reasons": the class is open.',
        found_by=("P-43",),
    ),
    Defect(
        "tensorflow-legacy-only",
        "tensorflow",
        SEEN,
        "refused",
        "should",
        (t.BOTH_STRUCTS,),
        "It exports and imports legacy capsules only, and imports no producers.",
        "PyArrow and mpi4py refuse its tensors; read-only arrays cannot reach it.",
        "Export with dlbridge.from_dlpack(t), import dlbridge.to_dlpack(x).",
        """
        import tensorflow as tf, ctypes_tensors
        print(ctypes_tensors.name(tf.constant([1.0]).__dlpack__(max_version=(1, 0))))
        """,
        "dltensor",
        """
        import ctypes_tensors, dlbridge, tensorflow as tf
        out = dlbridge.from_dlpack(tf.constant([1.0])).__dlpack__(max_version=(1, 0))
        assert ctypes_tensors.name(out) == "dltensor_versioned"
        x = ctypes_tensors.Producer(version=(1, 0))
        t = tf.experimental.dlpack.from_dlpack(dlbridge.to_dlpack(x))
        assert t.numpy().tolist() == [0, 1, 2, 3]
        """,
        found_by=("P-05",),
    ),
    Defect(
        "tensorflow-immutable-written",
        "tensorflow",
        SEEN,
        "writable",
        "permitted",
        (t.READ_ONLY_IGNORED,),
        "Immutable tensors are exported in legacy capsules, which have no read-only flag.",
        "Consumers of legacy capsules can change an array that its library never changes.",
        "Pass dlbridge.from_dlpack(x, readonly=True), or a copy to those that write.",
        """
        import tensorflow, ctypes_tensors
        x = tensorflow.constant([1.0, 2.0, 3.0])
        data = ctypes_tensors.contents(x.__dlpack__()).tensor.data
        ctypes_tensors.C.c_float.from_address(data).value = 9
        print(x.numpy().tolist())
        """,
        "[9.0, 2.0, 3.0]",
        """
        import dlbridge
        import tensorflow
        x = tensorflow.constant([1.0, 2.0, 3.0])
        assert dlbridge.from_dlpack(x, readonly=True).readonly
        """,
        remark="No sentence forbids the export of read-only memory in a legacy capsule.",
        found_by=("inspect",),
        seen_as=r"read-only: writable: .*its legacy capsule cannot be marked",
    ),
]
