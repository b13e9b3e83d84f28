"""The known defects of PyTorch."""

from __future__ import annotations

from dlbridge.tools.known.defect import Defect, refused

SEEN = "2.13.0"

ROWS = [
    Defect(
        "torch-negative-strides",
        "torch",
        SEEN,
        "crash",
        "A negative stride ends the process: a C++ exception leaves a noexcept function.",
        "Flipped NumPy arrays kill the interpreter, and no except can catch it.",
        "Copy on the way: dlbridge's copies are row-major. Without copy=True dlbridge hands the "
        "strides on as they are, as others can read them.",
        """
        import torch, by_hand
        torch.from_dlpack(by_hand.capsule(strides=(-1,)))
        """,
        "SIGABRT",
        """
        import array, dlbridge, torch
        flipped = memoryview(array.array("f", [1, 2, 3]))[::-1]
        x = torch.from_dlpack(dlbridge.as_tensor(flipped, copy=True))
        assert x.tolist() == [3, 2, 1]
        """,
        ("C-10",),
    ),
    Defect(
        "torch-negative-ndim",
        "torch",
        SEEN,
        "crash",
        "A capsule with a negative number of dimensions ends the process.",
        "A broken producer kills the interpreter where an error was due.",
        "Let dlbridge.from_dlpack read what you do not trust: it checks first, and raises.",
        """
        import torch, by_hand
        torch.from_dlpack(by_hand.capsule(ndim=-1))
        """,
        "SIGSEGV",
        refused("by_hand.capsule(ndim=-1)"),
        ("C-11",),
    ),
    Defect(
        "torch-huge-shape",
        "torch",
        SEEN,
        "crash",
        "A shape whose bytes cannot be counted in 64 bits ends the process.",
        "A broken producer kills the interpreter where an error was due.",
        "Let dlbridge.from_dlpack read what you do not trust: it checks first, and raises.",
        """
        import torch, by_hand
        torch.from_dlpack(by_hand.capsule(shape=(2**61, 4), strides=(4, 1)))
        """,
        "SIGABRT",
        refused("by_hand.capsule(shape=(2**61, 4), strides=(4, 1))"),
        ("C-11",),
    ),
    Defect(
        "torch-freed-twice",
        "torch",
        SEEN,
        "freed",
        "When the shape's product overflows it raises, frees the tensor, and leaves the capsule "
        "its name: the capsule frees it again.",
        "A double free in the producer, some time after an error that was caught.",
        "Let dlbridge.from_dlpack read what you do not trust: it checks before it takes.",
        """
        import torch, by_hand
        capsule = by_hand.capsule(shape=(2**62, 2**62), strides=(0, 0))
        try:
            torch.from_dlpack(capsule)
        except RuntimeError:
            pass
        del capsule
        print("freed", len(by_hand.freed), "times")
        """,
        "freed 2 times",
        """
        import by_hand, dlbridge
        capsule = by_hand.capsule(shape=(2**62, 2**62), strides=(0, 0))
        try:
            dlbridge.from_dlpack(capsule)
        except BufferError:
            pass
        del capsule
        assert len(by_hand.freed) == 1
        """,
        ("C-07",),
    ),
    Defect(
        "torch-negative-bit",
        "torch",
        SEEN,
        "wrong",
        "Views that negate on reading are exported without the sign.",
        "z.conj().imag arrives with the wrong sign in every consumer.",
        "x.resolve_neg() first: nothing in DLPack tells, so that dlbridge cannot see it either.",
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
        found_by=("inspect",),
    ),
    Defect(
        "torch-read-only",
        "torch",
        SEEN,
        "writable",
        "The read-only mark is ignored on the way in, without a warning.",
        "Read-only NumPy and Arrow arrays, and JAX's constants, are changed by x += 1.",
        "Copy what must not change: dlbridge.from_dlpack(x, copy=True).",
        """
        import torch, by_hand
        capsule = by_hand.capsule(version=(1, 0), flags=1)
        shared = by_hand.contents(capsule).tensor.data
        torch.from_dlpack(capsule)[0] = 9
        print("it now holds", by_hand.C.c_float.from_address(shared).value)
        """,
        "it now holds 9.0",
        """
        import dlbridge, torch
        constant = b"abc"
        torch.from_dlpack(dlbridge.as_tensor(constant, copy=True))[0] = 9
        assert constant == b"abc"
        """,
        ("C-13",),
    ),
    Defect(
        "torch-copy-not-marked",
        "torch",
        SEEN,
        "ignored",
        "A copy that it made on request does not carry the mark that says so.",
        "Consumers that look for the mark, as the specification says, copy once more.",
        "None is needed for values; dlbridge compares addresses instead.",
        """
        import torch, by_hand
        copied = torch.zeros(4).__dlpack__(max_version=(1, 0), copy=True)
        print("flags", by_hand.contents(copied).flags)
        """,
        "flags 0",
        """
        import dlbridge, torch
        x = torch.zeros(4)
        assert dlbridge.from_dlpack(x, copy=True).data_ptr != x.data_ptr()
        """,
        ("P-24",),
    ),
    Defect(
        "torch-table-any-version",
        "torch",
        SEEN,
        "accepted",
        "Its exchange table takes tensors of major version 2, whose fields nobody knows.",
        "Garbage, once a producer of a later DLPack is there.",
        "dlbridge gives it version 1, and refuses any other on the way in.",
        """
        import ctypes as C, torch, by_hand
        pointer = C.PYFUNCTYPE(C.c_void_p, C.py_object, C.c_char_p)(
            ("PyCapsule_GetPointer", C.pythonapi))
        table = pointer(torch.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
        slots = (C.c_void_p * 7).from_address(table)  # version, prev_api, then five functions
        to_object = C.PYFUNCTYPE(C.c_int, C.c_void_p, C.c_void_p)(slots[4])
        capsule, made = by_hand.capsule(version=(2, 0)), C.c_void_p()
        taken = to_object(C.addressof(by_hand.contents(capsule)), C.byref(made))
        print("accepted" if taken == 0 else "refused")
        """,
        "accepted",
        refused("by_hand.capsule(version=(2, 0))"),
        ("S-03",),
    ),
    Defect(
        "torch-table-unchecked",
        "torch",
        SEEN,
        "wrong",
        "Its exchange table exports tensors that __dlpack__ refuses: conjugate views and tensors "
        "that need gradients.",
        "Consumers that use the table get conjugate views without the conjugation.",
        "x.resolve_conj() first; dlbridge.from_dlpack asks __dlpack__, which refuses.",
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
        ("inspect",),
    ),
]
