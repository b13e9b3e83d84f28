"""The known defects of tvm-ffi."""

from __future__ import annotations

from dlbridge.tools.known.defect import Defect, refused

SEEN = "0.1.15.post2"

ROWS = [
    Defect(
        "tvm_ffi-any-version",
        "tvm_ffi",
        SEEN,
        "accepted",
        "It takes capsules of major version 2, whose fields nobody knows.",
        "Garbage, once a producer of a later DLPack is there.",
        "Go through dlbridge: it gives version 1, and refuses any other on the way in.",
        """
        import tvm_ffi, by_hand
        print(tvm_ffi.from_dlpack(by_hand.capsule(version=(2, 0))).shape)
        """,
        "(4,)",
        refused("by_hand.capsule(version=(2, 0))"),
        ("C-04",),
    ),
    Defect(
        "tvm_ffi-old-version-asked",
        "tvm_ffi",
        SEEN,
        "refused",
        "A max_version below 1.0 raises AttributeError, where a legacy capsule is due.",
        "Consumers that name the version before 1.0.",
        "dlbridge asks for 1.x or for none.",
        """
        import tvm_ffi, by_hand
        t = tvm_ffi.from_dlpack(by_hand.Producer())
        try:
            t.__dlpack__(max_version=(0, 8))
        except Exception as raised:
            print(type(raised).__name__)
        """,
        "AttributeError",
        """
        import by_hand, dlbridge, tvm_ffi
        t = dlbridge.from_dlpack(tvm_ffi.from_dlpack(by_hand.Producer()))
        assert by_hand.name(t.__dlpack__(max_version=(0, 8))) == "dltensor"
        """,
        ("P-06",),
    ),
    Defect(
        "tvm_ffi-requests-ignored",
        "tvm_ffi",
        SEEN,
        "ignored",
        "Without max_version, copy=True and dl_device= are dropped without a word.",
        "Who asks for a copy in the old way shares memory and does not know.",
        "Go through dlbridge: it compares addresses, and copies itself.",
        """
        import tvm_ffi, by_hand
        t = tvm_ffi.from_dlpack(by_hand.Producer())
        copied = by_hand.contents(t.__dlpack__(copy=True)).tensor
        print("same memory" if copied.data == t.data_ptr() else "copied")
        """,
        "same memory",
        """
        import by_hand, dlbridge, tvm_ffi
        t = tvm_ffi.from_dlpack(by_hand.Producer())
        assert dlbridge.from_dlpack(t, copy=True).data_ptr != t.data_ptr()
        """,
        ("P-24", "P-26"),
    ),
    Defect(
        "tvm_ffi-read-only",
        "tvm_ffi",
        SEEN,
        "writable",
        "The read-only mark is dropped: what it hands on is writable.",
        "Constants that pass through a TVM function can be written afterwards.",
        "Say it again on the way out: dlbridge.from_dlpack(t, readonly=True).",
        """
        import tvm_ffi, by_hand
        t = tvm_ffi.from_dlpack(by_hand.capsule(version=(1, 0), flags=1))
        print("flags", by_hand.contents(t.__dlpack__(max_version=(1, 0))).flags)
        """,
        "flags 0",
        """
        import by_hand, dlbridge, tvm_ffi
        t = tvm_ffi.from_dlpack(by_hand.capsule(version=(1, 0), flags=1))
        assert dlbridge.from_dlpack(t, readonly=True).readonly
        """,
    ),
]
