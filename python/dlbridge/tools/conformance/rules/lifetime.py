# SPDX-License-Identifier: BSD-3-Clause
"""The rules of lifetime and threads, of producers and of consumers."""

from __future__ import annotations

from . import texts as t
from .model import Rule

ROWS = [
    Rule(
        "X-01",
        "must",
        "Dropping a capsule that was not consumed runs its deleter once.",
        (t.CAPSULE, t.DELETES_ITSELF),
        "Give the capsule a destructor that calls the deleter while the capsule has its fresh "
        "name.",
    ),
    Rule(
        "X-02",
        "courtesy",
        "The capsule's destructor preserves a pending exception.",
        (t.PENDING_ERROR,),
        "Save the pending exception at the beginning of the destructor, and restore it at the end. "
        "A callback of ctypes cannot: write the destructor in C, or waive the rule.",
        "CPython says it of tp_dealloc, which calls the destructor; the example in "
        "DLPack's specification had such a guard until 0.8. jax#31271, pytorch#84056.",
    ),
    Rule(
        "X-03",
        "must",
        "The destructor of a consumed capsule does nothing.",
        (t.RENAMING,),
        "Compare the name in the destructor, and call the deleter only if it is the fresh one.",
    ),
    Rule(
        "X-04",
        "must",
        "The deleter may be called without the GIL, from a thread without a Python thread state.",
        (t.GIL,),
        "Acquire the GIL in the deleter (PyGILState_Ensure) before touching Python objects.",
        "numpy#22507, pytorch#88082.",
    ),
    Rule(
        "X-05",
        "should",
        "The deleter may be called after the interpreter's end: it neither crashes nor hangs.",
        (t.AFTER_FINALIZATION,),
        "Return at once when Py_IsInitialized() is false; a leak is correct then. A callback of "
        "ctypes cannot: write the deleter in C, or waive the rule.",
        "The specification shows it in an example.",
        crash="W",
    ),
    Rule(
        "X-06",
        "unsound",
        "A NULL deleter is not called.",
        (t.NULL_DELETER,),
        "Test the deleter for NULL before calling it, in the consumer and in destructors.",
    ),
    Rule(
        "X-07",
        "unsound",
        "Memory, shape and strides stay valid until the deleter is called, also after the source "
        "object was freed.",
        (t.BORROWING, t.DELETES_ITSELF),
        "Keep the owner of the memory, the shape and the strides in manager_ctx until the deleter "
        "runs, in both structs.",
    ),
    Rule(
        "X-08",
        "unsound",
        "Exports, copies and imports that are freed leave neither memory nor references behind.",
        (t.BORROWING, t.DELETES_ITSELF),
        "Free in the deleter everything that __dlpack__ allocated: the struct, the shape, the "
        "copy, the reference.",
        "pytorch#117273, Paddle#47171.",
    ),
    Rule(
        "X-09",
        "hardening",
        "When several threads consume one capsule, exactly one succeeds.",
        (t.CONSUMED_ONCE,),
        "Rename the capsule while holding a lock or the GIL, and read the tensor only after the "
        "renaming succeeded.",
        "A capsule is consumed within from_dlpack and not visible to users; cpython#145563.",
    ),
    Rule(
        "X-10",
        "hardening",
        "A capsule that is used, or that has another name, is refused with an error.",
        (t.CONSUMED_ONCE, t.CAPSULE),
        "Check the name with PyCapsule_IsValid before reading the pointer.",
    ),
    Rule(
        "X-11",
        "courtesy",
        "Pickling and copying the array copies it or is refused, and no copy shares a managed "
        "tensor.",
        (),
        "Define __reduce__ to copy the content, or let it raise TypeError; never keep a capsule "
        "in the state.",
        "Outside the protocol; Dask and Ray pickle what they send.",
        crash="N",
    ),
    Rule(
        "X-12",
        "courtesy",
        "The garbage collector can collect a reference cycle through an export.",
        (),
        "Release the managed tensor in tp_clear, or document that a cycle over a capsule is never "
        "freed.",
    ),
]
