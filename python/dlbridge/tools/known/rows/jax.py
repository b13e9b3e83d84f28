# SPDX-License-Identifier: BSD-3-Clause
"""The known defects of JAX."""

from __future__ import annotations

from ...conformance.rules import texts as t
from ..defect import Defect, changed

SEEN = "0.10.2 to 0.12.0.1"

ROWS = [
    Defect(
        "jax-copy-not-made",
        "jax",
        SEEN,
        "ignored",
        "must",
        (t.FROM_COPY_TRUE,),
        "from_dlpack(x, copy=True) makes no copy of CPU memory that is aligned to 64 bytes.",
        "An array that JAX assumes to be constant changes when the source is written.",
        "Copy with dlbridge: jax.dlpack.from_dlpack(dlbridge.from_dlpack(x, copy=True)).",
        """
        import jax.numpy, numpy
        memory = numpy.zeros(128, dtype="uint8")
        start = -memory.ctypes.data % 64
        x = memory[start:start + 64].view("float32")
        y = jax.numpy.from_dlpack(x, copy=True)
        print("same memory" if y.unsafe_buffer_pointer() == x.ctypes.data else "copied")
        x[0] = 9  # after the copy
        print("the copy holds", y[0])
        """,
        "the copy holds 9.0",
        """
        import ctypes_tensors, dlbridge, jax
        t = dlbridge.from_dlpack(ctypes_tensors.Producer())
        y = jax.dlpack.from_dlpack(dlbridge.from_dlpack(t, copy=True))
        assert y.unsafe_buffer_pointer() != t.data_ptr
        """,
        found_by=("S-14",),
    ),
    Defect(
        "jax-null-deleter",
        "jax",
        SEEN,
        "crash",
        "unsound",
        (t.NULL_DELETER,),
        "A NULL deleter crashes the process when the array is freed.",
        "Producers of static memory, which may omit the deleter.",
        "Convert with dlbridge: its exports always have a deleter.",
        changed(
            "deleter",
            None,
            """
            import jax
            y = jax.dlpack.from_dlpack(Producer())
            del y
            """,
            aligned=True,
        ),
        "SIGABRT",
        """
        import ctypes_tensors, dlbridge, jax
        y = jax.dlpack.from_dlpack(dlbridge.from_dlpack(ctypes_tensors.Producer(deleter=False)))
        assert y.tolist() == [0, 1, 2, 3]
        del y
        """,
        found_by=("X-06",),
    ),
    Defect(
        "jax-device-not-checked",
        "jax",
        SEEN,
        "wrong",
        "hardening",
        (t.DEVICE,),
        "It uses __dlpack_device__ and never reads the device in the capsule.",
        "For a producer that reports the CPU and exports CUDA memory, the CPU reads the pointer.",
        "Convert with dlbridge: it uses the device in the capsule.",
        changed(
            "device",
            2,
            """
            import jax
            y = jax.dlpack.from_dlpack(Producer())
            print("CUDA memory became an array on", y.device)
            """,
        ),
        "CUDA memory became an array on cpu:0",
        """
        import ctypes_tensors, dlbridge
        class Elsewhere(ctypes_tensors.Producer):
            def __dlpack_device__(self):
                return (1, 0)
        assert dlbridge.from_dlpack(Elsewhere(device=(2, 0))).device == "cuda:0"
        """,
        found_by=("C-31",),
    ),
    Defect(
        "jax-legacy-only",
        "jax",
        "0.10.2 to 0.11.2",
        "refused",
        "should",
        (t.BOTH_STRUCTS,),
        "It exports a legacy capsule for every max_version.",
        "PyArrow and mpi4py refuse JAX arrays; NumPy's results are read-only.",
        "Convert with dlbridge: it imports both kinds, and exports versioned ones.",
        """
        import jax.numpy
        print(str(jax.numpy.zeros(3).__dlpack__(max_version=(1, 0))).split('"')[1])
        """,
        "dltensor",
        """
        import ctypes_tensors, dlbridge, jax.numpy as jnp
        t = dlbridge.from_dlpack(jnp.zeros(3))
        assert ctypes_tensors.name(t.__dlpack__(max_version=(1, 0))) == "dltensor_versioned"
        """,
        found_by=("P-05",),
        fixed_in="0.12.0",
    ),
    Defect(
        "jax-never-asks-versioned",
        "jax",
        "0.10.2 to 0.11.2",
        "refused",
        "permitted",
        (t.NOT_YET,),
        "It never requests a versioned capsule, and legacy ones have no read-only flag.",
        "The producer refuses read-only NumPy arrays with BufferError.",
        "JAX never writes, so remove the mark: "
        "jax.dlpack.from_dlpack(dlbridge.from_dlpack(x, readonly=False)).",
        """
        import jax, numpy
        class Printing:
            def __dlpack__(self, **keywords):
                print(sorted(keywords))
                return numpy.zeros(3).__dlpack__()
            def __dlpack_device__(self):
                return (1, 0)
        jax.dlpack.from_dlpack(Printing())
        """,
        "['stream']",
        """
        import dlbridge, jax
        t = dlbridge.as_tensor(b"abc")
        y = jax.dlpack.from_dlpack(dlbridge.from_dlpack(t, readonly=False))
        assert y.tolist() == [97, 98, 99]
        """,
        remark="The array API allows consumers to wait with the keyword.",
        found_by=("C-02",),
        fixed_in="0.12.0",
        upstream="https://github.com/jax-ml/jax/issues/40789",
    ),
    Defect(
        "jax-immutable-written",
        "jax",
        SEEN,
        "writable",
        "permitted",
        (t.READ_ONLY_IGNORED,),
        "Immutable arrays are exported in legacy capsules, which have no read-only flag.",
        "Consumers of legacy capsules can change an array that its library never changes.",
        "Pass dlbridge.from_dlpack(x, readonly=True), or a copy to those that write.",
        """
        import jax.numpy, ctypes_tensors
        x = jax.numpy.array([1.0, 2.0, 3.0])
        data = ctypes_tensors.contents(x.__dlpack__()).tensor.data
        ctypes_tensors.C.c_float.from_address(data).value = 9
        print(x.tolist())
        """,
        "[9.0, 2.0, 3.0]",
        """
        import dlbridge
        import jax.numpy
        x = jax.numpy.array([1.0, 2.0, 3.0])
        assert dlbridge.from_dlpack(x, readonly=True).readonly
        """,
        remark="No sentence forbids the export of read-only memory in a legacy capsule.",
        found_by=("P-49", "inspect"),
        upstream="https://github.com/jax-ml/jax/issues/40789",
        seen_as=r"read-only: writable: .*its legacy capsule cannot be marked",
    ),
    Defect(
        "jax-device-request",
        "jax",
        SEEN,
        "refused",
        "must",
        (t.DEVICE_REFUSED,),
        "It raises RuntimeError and not BufferError for a dl_device without a backend.",
        "Callers that catch BufferError, to fall back to another device.",
        "Catch RuntimeError too. dlbridge compares devices before it calls __dlpack__.",
        """
        import jax.numpy
        try:
            jax.numpy.arange(3).__dlpack__(dl_device=(10, 0))  # ROCm
        except Exception as raised:
            print(type(raised).__name__)
        """,
        "RuntimeError",
        found_by=("P-26",),
    ),
    Defect(
        "jax-copy-false-copies",
        "jax",
        SEEN,
        "ignored",
        "must",
        (t.FROM_COPY_FALSE,),
        "from_dlpack(x, copy=False) copies elements of 64 bits to 32 bits without an error.",
        "A caller that relies on shared memory gets an array that does not change with its source.",
        "Enable jax_enable_x64, or compare the dtypes of both arrays.",
        """
        import jax.numpy, numpy
        memory = numpy.zeros(128, dtype="uint8")
        start = -memory.ctypes.data % 64
        x = memory[start:start + 64].view("int64")
        y = jax.numpy.from_dlpack(x, copy=False)
        x[0] = 9
        print(y.dtype, y[0])
        """,
        "int32 0",
        found_by=("C-19",),
    ),
    Defect(
        "jax-narrowed",
        "jax",
        SEEN,
        "wrong",
        "should",
        (t.FROM_DATA,),
        "Without jax_enable_x64, from_dlpack takes the low 32 bits of integers of 64 bits.",
        "Indices and times become other numbers, without an error.",
        "Enable jax_enable_x64, or compare the dtypes of both arrays.",
        """
        import jax.numpy, numpy
        print(jax.numpy.from_dlpack(numpy.array([2**32 + 7])))
        """,
        "[7]",
        found_by=("C-38",),
    ),
]
