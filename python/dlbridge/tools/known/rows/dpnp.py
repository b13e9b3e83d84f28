"""The known defects of dpnp and dpctl."""

from __future__ import annotations

from dlbridge.tools.known.defect import Defect

# The tensors moved from one package to the other.
HOMES = [("dpctl", "dpctl.tensor", "0.21.1"), ("dpnp", "dpnp.tensor", "0.20.0")]


def rows_of(library: str, module: str, seen_in: str) -> list[Defect]:
    return [
        Defect(
            f"{library}-byte-offset",
            library,
            seen_in,
            "wrong",
            "The byte offset of CPU tensors is ignored: the values are those before the tensor.",
            "Slices of MLX and tvm-ffi.",
            "Go through dlbridge: it exports the address of the first element, and no offset.",
            f"""
            import {module} as dpt, by_hand
            print(dpt.from_dlpack(by_hand.Producer(byte_offset=16)))
            """,
            "[0. 1. 2. 3.]",
            f"""
            import by_hand, dlbridge, {module} as dpt
            x = by_hand.Producer(byte_offset=16)
            assert dpt.from_dlpack(dlbridge.from_dlpack(x)).tolist() == [4, 5, 6, 7]
            """,
            ("C-09",),
        ),
        Defect(
            f"{library}-null-deleter",
            library,
            seen_in,
            "crash",
            "A tensor without a deleter ends the process when the array goes.",
            "Producers of memory that lives forever, which may leave the deleter out.",
            "Go through dlbridge: what it exports has a deleter always.",
            f"""
            import {module} as dpt, by_hand
            x = dpt.from_dlpack(by_hand.Producer(deleter=False))
            del x
            """,
            "SIGSEGV",
            f"""
            import by_hand, dlbridge, {module} as dpt
            x = dpt.from_dlpack(dlbridge.from_dlpack(by_hand.Producer(deleter=False)))
            assert x.tolist() == [0, 1, 2, 3]
            del x
            """,
            ("X-06",),
        ),
        Defect(
            f"{library}-copy-dropped",
            library,
            seen_in,
            "ignored",
            "from_dlpack(x, copy=True) of a producer that does not know the keyword makes no copy.",
            "Who asks for a copy of an older library's array shares memory and does not know.",
            "Go through dlbridge: it copies itself.",
            f"""
            import {module} as dpt, by_hand
            made = by_hand.capsule()
            shared = by_hand.contents(made).tensor.data
            class Old:
                def __dlpack__(self, stream=None):
                    return made
                def __dlpack_device__(self):
                    return (1, 0)
            x = dpt.from_dlpack(Old(), copy=True)
            print("same memory" if x.ctypes.data == shared else "copied")
            """,
            "same memory",
            """
            import by_hand, dlbridge
            class Old:
                def __dlpack__(self, stream=None):
                    return made
                def __dlpack_device__(self):
                    return (1, 0)
            made = by_hand.capsule()
            shared = by_hand.contents(made).tensor.data
            assert dlbridge.from_dlpack(Old(), copy=True).data_ptr != shared
            """,
            ("C-02", "S-14"),
        ),
        Defect(
            f"{library}-after-exit",
            library,
            seen_in,
            "crash",
            "A deleter that is called after Python has ended ends the process by SIGSEGV.",
            "C++ code with a global that holds a tensor.",
            "Give tensors back before Python ends: dlbridge hands the call on.",
            f"""
            import ctypes as C, {module} as dpt, by_hand
            kept = dpt.arange(4, dtype="float32").__dlpack__()
            C.PYFUNCTYPE(None, C.py_object)(("Py_IncRef", C.pythonapi))(kept)  # nobody drops it
            tensor = by_hand.contents(kept)
            at_exit = C.CDLL(None).__cxa_atexit  # what is given to it is called after Python's end
            at_exit(C.c_void_p(tensor.deleter), C.c_void_p(C.addressof(tensor)), None)
            """,
            "SIGSEGV",
            found_by=("X-05",),
        ),
        Defect(
            f"{library}-requests-ignored",
            library,
            seen_in,
            "ignored",
            "Without max_version, copy=True and dl_device= are dropped without a word.",
            "Who asks for a copy in the old way shares memory and does not know.",
            "Go through dlbridge: it asks in the new way, and compares addresses.",
            f"""
            import {module} as dpt, by_hand
            x = dpt.arange(4, dtype="float32")
            copied = by_hand.contents(x.__dlpack__(copy=True)).tensor
            print("same memory" if copied.data == x._pointer else "copied")
            """,
            "same memory",
            f"""
            import dlbridge, {module} as dpt
            x = dpt.arange(4, dtype="float32")
            assert dlbridge.from_dlpack(x, copy=True).data_ptr != x._pointer
            """,
            ("P-24", "P-26"),
        ),
    ]


ROWS = [
    *(defect for home in HOMES for defect in rows_of(*home)),
    Defect(
        "dpnp-null-strides",
        "dpnp",
        "0.20.0",
        "crash",
        "A oneAPI tensor whose strides are NULL ends the process.",
        "Producers of legacy capsules, which may leave the strides out.",
        "Go through dlbridge: what it exports has strides always.",
        """
        import dpnp.tensor as dpt, by_hand
        own = dpt.arange(4, dtype="float32")
        capsule = own.__dlpack__()
        by_hand.contents(capsule).tensor.strides = None
        class Once(by_hand.Producer):
            def __dlpack__(self, **keywords):
                return capsule
            def __dlpack_device__(self):
                return own.__dlpack_device__()
        print(dpt.from_dlpack(Once()))
        """,
        "SIGSEGV",
        """
        import by_hand, dlbridge, dpnp.tensor as dpt
        own = dpt.arange(4, dtype="float32")
        capsule = own.__dlpack__()
        by_hand.contents(capsule).tensor.strides = None
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
        "Writable arrays of rank 0 are exported as read-only.",
        "Sums and other single values that are to be written.",
        "dlbridge.from_dlpack(x, readonly=False), if you know better.",
        """
        import dpnp.tensor as dpt, by_hand
        x = dpt.asarray(3.0)
        flags = by_hand.contents(x.__dlpack__(max_version=(1, 0))).flags
        print("writable:", x.flags.writable, "flags:", flags)
        """,
        "writable: True flags: 1",
        """
        import dlbridge, dpnp.tensor as dpt
        x = dpt.asarray(3.0)
        assert not dlbridge.from_dlpack(x, readonly=False).readonly
        """,
        found_by=("P-22",),
    ),
]
