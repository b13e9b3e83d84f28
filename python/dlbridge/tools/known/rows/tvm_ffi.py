# SPDX-License-Identifier: BSD-3-Clause
"""The known defects of tvm-ffi."""

from __future__ import annotations

from ...conformance.rules import texts as t
from ..defect import Defect, changed, refused

SEEN = "0.1.15.post2"

ROWS = [
    Defect(
        "tvm_ffi-any-version",
        "tvm_ffi",
        SEEN,
        "accepted",
        "must",
        (t.MAJOR,),
        "It accepts capsules of major version 2, whose fields are unknown.",
        "Garbage is read once producers of a later DLPack exist.",
        "Convert with dlbridge: it exports version 1, and refuses any other on import.",
        changed(
            "version",
            2,
            """
            import tvm_ffi
            print(tvm_ffi.from_dlpack(capsule).shape)
            """,
        ),
        "(4,)",
        refused("ctypes_tensors.capsule(version=(2, 0))"),
        found_by=("C-04",),
        title="from_dlpack accepts DLManagedTensorVersioned of major version 2",
    ),
    Defect(
        "tvm_ffi-old-version-asked",
        "tvm_ffi",
        SEEN,
        "refused",
        "should",
        (t.PRODUCER_LOGIC, t.TOO_OLD),
        "A max_version below 1.0 raises AttributeError instead of exporting a legacy capsule.",
        "Consumers that request a version before 1.0.",
        "dlbridge requests 1.x or no version.",
        """
        import numpy, tvm_ffi
        t = tvm_ffi.from_dlpack(numpy.zeros(4))
        try:
            t.__dlpack__(max_version=(0, 8))
        except Exception as raised:
            print(type(raised).__name__)
        """,
        "AttributeError",
        """
        import ctypes_tensors, dlbridge, tvm_ffi
        t = dlbridge.from_dlpack(tvm_ffi.from_dlpack(ctypes_tensors.Producer()))
        assert ctypes_tensors.name(t.__dlpack__(max_version=(0, 8))) == "dltensor"
        """,
        found_by=("P-34",),
    ),
    Defect(
        "tvm_ffi-requests-ignored",
        "tvm_ffi",
        SEEN,
        "ignored",
        "should",
        (t.COPY_TRUE, t.DEVICE_REFUSED, t.ONLY_DLPACK),
        "Without max_version, copy=True and dl_device= are silently ignored.",
        "A caller that requests a copy without max_version shares the memory.",
        "Convert with dlbridge: it compares addresses, and makes the copy itself.",
        """
        import numpy, tvm_ffi
        x = numpy.zeros(4)
        t = tvm_ffi.from_dlpack(x)
        class Copied:
            def __dlpack__(self, **keywords):
                return t.__dlpack__(copy=True)
            def __dlpack_device__(self):
                return (1, 0)
        print("same memory" if numpy.shares_memory(numpy.from_dlpack(Copied()), x) else "copied")
        """,
        "same memory",
        """
        import ctypes_tensors, dlbridge, tvm_ffi
        t = tvm_ffi.from_dlpack(ctypes_tensors.Producer())
        assert dlbridge.from_dlpack(t, copy=True).data_ptr != t.data_ptr()
        """,
        found_by=("P-24", "P-26"),
    ),
    Defect(
        "tvm_ffi-read-only",
        "tvm_ffi",
        SEEN,
        "writable",
        "permitted",
        (t.READ_ONLY_IGNORED,),
        "tvm-ffi has no read-only tensors: it ignores the flag on import, and exports without it.",
        "Constants that pass through a TVM function become writable.",
        "Set the flag again: dlbridge.from_dlpack(t, readonly=True).",
        """
        import tvm_ffi, ctypes_tensors
        t = tvm_ffi.from_dlpack(ctypes_tensors.capsule(version=(1, 0), flags=1))
        print("flags", ctypes_tensors.contents(t.__dlpack__(max_version=(1, 0))).flags)
        """,
        "flags 0",
        """
        import ctypes_tensors, dlbridge, tvm_ffi
        t = tvm_ffi.from_dlpack(ctypes_tensors.capsule(version=(1, 0), flags=1))
        assert dlbridge.from_dlpack(t, readonly=True).readonly
        """,
        remark="The array API prefers this to an exception.",
        seen_as=r"read-only: writable: .*it exports its array",
    ),
]
