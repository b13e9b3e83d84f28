# SPDX-License-Identifier: BSD-3-Clause
"""The known defects of dpnp and dpctl."""

from __future__ import annotations

from ...conformance.rules import texts as t
from ..defect import Defect

# The arrays moved from dpctl to dpnp: dpctl 0.22.1 has none.
PACKAGES = [("dpctl", "dpctl.tensor", "0.21.1", "0.22.1"), ("dpnp", "dpnp.tensor", "0.20.0", "")]


def rows_of(library: str, module: str, seen_in: str, fixed_in: str) -> list[Defect]:
    return [
        Defect(
            f"{library}-byte-offset",
            library,
            seen_in,
            "wrong",
            "unsound",
            (t.BYTE_OFFSET, t.OFFSET),
            "The byte offset of CPU tensors is ignored: values before the tensor are read.",
            "Slices of MLX and tvm-ffi.",
            "Convert with dlbridge: it exports the address of the first element, and no offset.",
            f"""
            import {module} as dpt, ctypes_tensors
            print(dpt.from_dlpack(ctypes_tensors.Producer(byte_offset=16)))
            """,
            "[0. 1. 2. 3.]",
            f"""
            import ctypes_tensors, dlbridge, {module} as dpt
            x = ctypes_tensors.Producer(byte_offset=16)
            assert dpt.from_dlpack(dlbridge.from_dlpack(x)).tolist() == [4, 5, 6, 7]
            """,
            found_by=("C-09",),
            seen_as=r": wrong: .*byte_offset",
            fixed_in=fixed_in,
        ),
        Defect(
            f"{library}-null-deleter",
            library,
            seen_in,
            "crash",
            "unsound",
            (t.NULL_DELETER,),
            "A NULL deleter crashes the process when the array is freed.",
            "Producers of static memory, which may omit the deleter.",
            "Convert with dlbridge: its exports always have a deleter.",
            f"""
            import {module} as dpt, ctypes_tensors
            x = dpt.from_dlpack(ctypes_tensors.Producer(deleter=False))
            del x
            """,
            "SIGSEGV",
            f"""
            import ctypes_tensors, dlbridge, {module} as dpt
            x = dpt.from_dlpack(dlbridge.from_dlpack(ctypes_tensors.Producer(deleter=False)))
            assert x.tolist() == [0, 1, 2, 3]
            del x
            """,
            found_by=("X-06",),
            fixed_in=fixed_in,
        ),
        Defect(
            f"{library}-copy-dropped",
            library,
            seen_in,
            "ignored",
            "must",
            (t.FROM_COPY_TRUE,),
            "from_dlpack(x, copy=True) of a producer without this keyword makes no copy.",
            "A caller that requests a copy of an older library's array shares its memory.",
            "Convert with dlbridge: it makes the copy itself.",
            f"""
            import {module} as dpt, ctypes_tensors
            capsule = ctypes_tensors.capsule()
            shared = ctypes_tensors.contents(capsule).tensor.data
            class Old:
                def __dlpack__(self, stream=None):
                    return capsule
                def __dlpack_device__(self):
                    return (1, 0)
            x = dpt.from_dlpack(Old(), copy=True)
            print("same memory" if x.ctypes.data == shared else "copied")
            """,
            "same memory",
            """
            import ctypes_tensors, dlbridge
            class Old:
                def __dlpack__(self, stream=None):
                    return capsule
                def __dlpack_device__(self):
                    return (1, 0)
            capsule = ctypes_tensors.capsule()
            shared = ctypes_tensors.contents(capsule).tensor.data
            assert dlbridge.from_dlpack(Old(), copy=True).data_ptr != shared
            """,
            found_by=("S-14",),
            fixed_in=fixed_in,
        ),
        Defect(
            f"{library}-after-exit",
            library,
            seen_in,
            "crash",
            "should",
            (t.AFTER_FINALIZATION,),
            "A deleter that is called after the interpreter's end crashes the process.",
            "C++ code with a global variable that owns a tensor.",
            "Free tensors before the interpreter's end: dlbridge forwards the call.",
            f"""
            import ctypes as C, {module} as dpt, ctypes_tensors
            capsule = dpt.arange(4, dtype="float32").__dlpack__()
            C.PYFUNCTYPE(None, C.py_object)(("Py_IncRef", C.pythonapi))(capsule)  # never freed
            tensor = ctypes_tensors.contents(capsule)
            at_exit = C.CDLL(None).__cxa_atexit  # called after the interpreter's end
            at_exit(C.c_void_p(tensor.deleter), C.c_void_p(C.addressof(tensor)), None)
            """,
            "SIGSEGV",
            found_by=("X-05",),
            fixed_in=fixed_in,
        ),
        Defect(
            f"{library}-requests-ignored",
            library,
            seen_in,
            "ignored",
            "must",
            (t.COPY_TRUE, t.DEVICE_REFUSED),
            "Without max_version, copy=True and dl_device= are silently ignored.",
            "A caller that requests a copy without max_version shares the memory.",
            "Convert with dlbridge: it passes max_version, and compares addresses.",
            f"""
            import {module} as dpt, ctypes_tensors
            x = dpt.arange(4, dtype="float32")
            copied = ctypes_tensors.contents(x.__dlpack__(copy=True)).tensor
            print("same memory" if copied.data == x._pointer else "copied")
            """,
            "same memory",
            f"""
            import dlbridge, {module} as dpt
            x = dpt.arange(4, dtype="float32")
            assert dlbridge.from_dlpack(x, copy=True).data_ptr != x._pointer
            """,
            found_by=("P-24", "P-26"),
            fixed_in=fixed_in,
        ),
    ]


ROWS = [
    *(defect for package in PACKAGES for defect in rows_of(*package)),
    Defect(
        "dpnp-null-strides",
        "dpnp",
        "0.20.0",
        "crash",
        "unsound",
        (t.NULL_STRIDES, t.NULL_IS_ROW_MAJOR),
        "A oneAPI tensor whose strides are NULL crashes the process.",
        "Producers of legacy capsules, which may omit the strides.",
        "Convert with dlbridge: its exports always have strides.",
        """
        import dpnp.tensor as dpt, ctypes_tensors
        own = dpt.arange(4, dtype="float32")
        capsule = own.__dlpack__()
        ctypes_tensors.contents(capsule).tensor.strides = None
        class Once(ctypes_tensors.Producer):
            def __dlpack__(self, **keywords):
                return capsule
            def __dlpack_device__(self):
                return own.__dlpack_device__()
        print(dpt.from_dlpack(Once()))
        """,
        "SIGSEGV",
        """
        import ctypes_tensors, dlbridge, dpnp.tensor as dpt
        own = dpt.arange(4, dtype="float32")
        capsule = own.__dlpack__()
        ctypes_tensors.contents(capsule).tensor.strides = None
        x = dpt.from_dlpack(dlbridge.from_dlpack(capsule))
        assert dpt.asnumpy(x).tolist() == [0, 1, 2, 3]
        """,
        found_by=("C-08",),
    ),
    Defect(
        "dpnp-rank-0-read-only",
        "dpnp",
        "0.20.0",
        "wrong",
        "permitted",
        (),
        "Writable arrays of rank 0 are exported as read-only.",
        "Sums and other single values that a caller writes to.",
        "dlbridge.from_dlpack(x, readonly=False) clears the read-only flag.",
        """
        import dpnp.tensor as dpt, ctypes_tensors
        x = dpt.asarray(3.0)
        flags = ctypes_tensors.contents(x.__dlpack__(max_version=(1, 0))).flags
        print("writable:", x.flags.writable, "flags:", flags)
        """,
        "writable: True flags: 1",
        """
        import dlbridge, dpnp.tensor as dpt
        x = dpt.asarray(3.0)
        assert not dlbridge.from_dlpack(x, readonly=False).readonly
        """,
        remark="No sentence forbids to mark writable memory.",
        found_by=("P-50",),
    ),
]
