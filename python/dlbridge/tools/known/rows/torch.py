# SPDX-License-Identifier: BSD-3-Clause
"""The known defects of PyTorch."""

from __future__ import annotations

from ...conformance.rules import texts as t
from ..defect import Defect, changed, refused

SEEN = "2.13.0"

ROWS = [
    Defect(
        "torch-negative-strides",
        "torch",
        "2.12.1 to 2.13.0",
        "crash",
        "unsound",
        (t.STRIDES, t.STRIDED),
        "A negative stride crashes the process: a C++ exception leaves a noexcept function.",
        "Flipped NumPy arrays crash the interpreter, which no except clause can handle.",
        "Copy with dlbridge: its copies are row-major. Without copy=True dlbridge passes the "
        "strides on unchanged, as other consumers support them.",
        """
        import numpy, torch
        torch.from_dlpack(numpy.arange(4.0)[::-1])
        """,
        "SIGABRT",
        """
        import array, dlbridge, torch
        flipped = memoryview(array.array("f", [1, 2, 3]))[::-1]
        x = torch.from_dlpack(dlbridge.as_tensor(flipped, copy=True))
        assert x.tolist() == [3, 2, 1]
        """,
        found_by=("C-36",),
        fixed_in="2.14.0",
        upstream="https://github.com/pytorch/pytorch/issues/188023",
        seen_as=r"Storage size calculation overflowed",
    ),
    Defect(
        "torch-negative-ndim",
        "torch",
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
            import torch
            torch.from_dlpack(capsule)
            """,
        ),
        "SIGSEGV",
        refused("ctypes_tensors.capsule(ndim=-1)"),
        found_by=("C-11",),
    ),
    Defect(
        "torch-huge-shape",
        "torch",
        SEEN,
        "crash",
        "hardening",
        (t.SHAPE,),
        "A shape whose size in bytes exceeds 64 bits crashes the process.",
        "A broken producer crashes the interpreter where an exception is expected.",
        "Import untrusted tensors with dlbridge.from_dlpack: it checks them, and raises.",
        """
        import torch, ctypes_tensors
        torch.from_dlpack(ctypes_tensors.capsule(shape=(2**61, 4), strides=(4, 1)))
        """,
        "SIGABRT",
        refused("ctypes_tensors.capsule(shape=(2**61, 4), strides=(4, 1))"),
        found_by=("C-11",),
        fixed_in="2.14.0",
        upstream="https://github.com/pytorch/pytorch/issues/188023",
    ),
    Defect(
        "torch-freed-twice",
        "torch",
        SEEN,
        "freed",
        "hardening",
        (t.BORROWING, t.RENAMING),
        "When the shape's product overflows it raises, frees the tensor, and does not rename the "
        "capsule: the capsule frees it again.",
        "A double free in the producer, after an exception that was handled.",
        "Import untrusted tensors with dlbridge.from_dlpack: it raises, and frees the tensor once.",
        """
        import torch, ctypes_tensors
        capsule = ctypes_tensors.capsule(shape=(2**62, 2**62), strides=(0, 0))
        try:
            torch.from_dlpack(capsule)
        except RuntimeError:
            pass
        del capsule
        print("freed", len(ctypes_tensors.freed), "times")
        """,
        "freed 2 times",
        """
        import ctypes_tensors, dlbridge
        capsule = ctypes_tensors.capsule(shape=(2**62, 2**62), strides=(0, 0))
        try:
            dlbridge.from_dlpack(capsule)
        except BufferError:
            pass
        del capsule
        assert len(ctypes_tensors.freed) == 1
        """,
        found_by=("C-22",),
    ),
    Defect(
        "torch-data-replaced",
        "torch",
        SEEN,
        "freed",
        "unsound",
        (t.BORROWING,),
        "An export holds the tensor, not its memory: x.data = y, x.set_(y), x.resize_(n) and "
        "x.share_memory_() free or move the memory that a consumer still uses.",
        "The consumer reads freed memory. Optimizers and multiprocessing replace data so.",
        "Pass x.detach(): it keeps the memory when x.data or x.set_() replaces that of x. No "
        "tensor keeps it when the storage itself is resized or moved to shared memory.",
        """
        import torch
        from torch.multiprocessing.reductions import StorageWeakRef
        x = torch.ones(4)
        memory = StorageWeakRef(x.untyped_storage())
        capsule = x.__dlpack__(max_version=(1, 0))
        x.data = torch.zeros(4)
        print("freed" if memory.expired() else "kept", "while the capsule refers to it")
        """,
        "freed while the capsule refers to it",
        """
        import dlbridge, torch
        x = torch.ones(4)
        t = dlbridge.from_dlpack(x.detach())
        x.data = torch.zeros(4)
        assert t.tolist() == [1, 1, 1, 1]
        """,
    ),
    Defect(
        "torch-negative-bit",
        "torch",
        SEEN,
        "wrong",
        "unsound",
        (t.DATA, t.DTYPE_EXAMPLES),
        "Views with a lazy negation are exported without it.",
        "z.conj().imag arrives with the wrong sign in every consumer.",
        "Call x.resolve_neg() first; DLPack has no field for it, so dlbridge cannot detect it.",
        """
        import torch
        lazy = torch.tensor([1 + 2j]).conj().imag
        print(lazy.item(), "arrives as", torch.from_dlpack(lazy).item())
        """,
        "-2.0 arrives as 2.0",
        """
        import dlbridge, torch
        lazy = torch.tensor([1 + 2j]).conj().imag
        right = dlbridge.from_dlpack(lazy.resolve_neg())
        assert memoryview(right).tolist() == [-2]
        """,
        found_by=("P-38", "inspect"),
    ),
    Defect(
        "torch-read-only",
        "torch",
        SEEN,
        "writable",
        "permitted",
        (t.READ_ONLY_IGNORED,),
        "PyTorch has no read-only tensors: it ignores the flag on import; the result is writable.",
        "x += 1 changes read-only NumPy and Arrow arrays, and JAX's constants.",
        "Copy data that must not change: dlbridge.from_dlpack(x, copy=True).",
        """
        import numpy, torch
        x = numpy.zeros(3)
        x.flags.writeable = False
        torch.from_dlpack(x)[0] = 9
        print("it now holds", x[0])
        """,
        "it now holds 9.0",
        """
        import dlbridge, torch
        constant = b"abc"
        torch.from_dlpack(dlbridge.as_tensor(constant, copy=True))[0] = 9
        assert constant == b"abc"
        """,
        remark="The array API prefers this to an exception.",
        found_by=("C-13",),
        seen_as=r"read-only: writable: .*writing to its array",
    ),
    Defect(
        "torch-copy-not-marked",
        "torch",
        SEEN,
        "ignored",
        "must",
        (t.COPY_FLAG,),
        "A requested copy is not marked IS_COPIED.",
        "Consumers that rely on the flag, as specified, copy again.",
        "The values are right; dlbridge compares addresses instead.",
        """
        import ctypes, torch
        copied = torch.zeros(4).__dlpack__(max_version=(1, 0), copy=True)
        pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
            ("PyCapsule_GetPointer", ctypes.pythonapi))
        address = pointer_of(copied, b"dltensor_versioned")
        print("flags", ctypes.c_uint64.from_address(address + 24).value)
        """,
        "flags 0",
        """
        import dlbridge, torch
        x = torch.zeros(4)
        assert dlbridge.from_dlpack(x, copy=True).data_ptr != x.data_ptr()
        """,
        found_by=("P-39",),
    ),
    Defect(
        "torch-table-any-version",
        "torch",
        SEEN,
        "accepted",
        "hardening",
        (t.MAJOR,),
        "Its exchange table accepts tensors of major version 2, whose fields are unknown.",
        "Garbage is read once producers of a later DLPack exist.",
        "dlbridge exports version 1, and refuses any other on import.",
        changed(
            "version",
            2,
            """
            import torch
            table = pointer_of(torch.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
            slots = (ctypes.c_void_p * 7).from_address(table)  # version, prev_api, five functions
            to_object = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(slots[4])
            result = ctypes.c_void_p()
            taken = to_object(pointer_of(capsule, b"dltensor_versioned"), ctypes.byref(result))
            print("accepted" if taken == 0 else "refused")
            """,
        ),
        "accepted",
        refused("ctypes_tensors.capsule(version=(2, 0))"),
        found_by=("S-18",),
    ),
    Defect(
        "torch-table-unchecked",
        "torch",
        SEEN,
        "wrong",
        "unsound",
        (t.TABLE_EXPORT,),
        "Its exchange table exports conjugate views, which __dlpack__ refuses, without the "
        "conjugation.",
        "Consumers that use the table read conjugate views without the conjugation.",
        "Call x.resolve_conj() first; dlbridge.from_dlpack calls __dlpack__, which refuses.",
        """
        import ctypes as C, torch
        pointer = C.PYFUNCTYPE(C.c_void_p, C.py_object, C.c_char_p)(
            ("PyCapsule_GetPointer", C.pythonapi))
        table = pointer(torch.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
        slots = (C.c_void_p * 7).from_address(table)  # version, prev_api, then five functions
        from_object = C.PYFUNCTYPE(C.c_int, C.py_object, C.c_void_p)(slots[3])
        x, managed = torch.tensor([1 + 2j]).conj(), C.c_void_p()
        from_object(x, C.byref(managed))
        data = C.c_void_p.from_address(managed.value + 32).value
        print(x.item(), "arrives with imaginary part", C.c_float.from_address(data + 4).value)
        """,
        "(1-2j) arrives with imaginary part 2.0",
        "import torch\n" + refused("torch.tensor([1 + 2j]).conj()"),
        found_by=("S-17", "inspect"),
    ),
    Defect(
        "torch-device-freed-twice",
        "torch",
        SEEN,
        "freed",
        "unsound",
        (t.BORROWING, t.RENAMING),
        "When it refuses a capsule of OpenCL it frees the tensor without renaming the capsule: the "
        "capsule frees it again.",
        "A double free in the producer, after an exception that was handled.",
        "Check the device first: dlbridge.from_dlpack(x).device.",
        """
        import torch, ctypes_tensors
        capsule = ctypes_tensors.capsule(device=(4, 0))
        try:
            torch.from_dlpack(capsule)
        except RuntimeError:
            pass
        del capsule
        print("freed", len(ctypes_tensors.freed), "times")
        """,
        "freed 2 times",
        """
        import ctypes_tensors, dlbridge
        t = dlbridge.from_dlpack(ctypes_tensors.capsule(device=(4, 0)))
        assert t.device == "opencl:0"
        del t
        assert len(ctypes_tensors.freed) == 1
        """,
        found_by=("C-21",),
    ),
    Defect(
        "torch-device-request",
        "torch",
        SEEN,
        "refused",
        "should",
        (t.DEVICE_REFUSED, t.ONLY_DLPACK),
        "Without CUDA, it raises NotImplementedError and not BufferError for a CUDA dl_device.",
        "Callers that catch BufferError, to fall back to another device.",
        "Catch RuntimeError too, from which it is derived.",
        """
        import torch
        try:
            torch.zeros(4).__dlpack__(dl_device=(2, 0))
        except BufferError:
            pass
        except Exception as raised:
            print(type(raised).__name__)
        """,
        "NotImplementedError",
        found_by=("P-26",),
    ),
]
