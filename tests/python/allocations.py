# SPDX-License-Identifier: BSD-3-Clause
"""Lets each allocation of an operation fail, once and for good: `python allocations.py NAME`.

Runs with libfailing_malloc.so preloaded and PYTHONMALLOC=malloc, so that every allocation counts.
"""

from __future__ import annotations

import ctypes
import gc
import pickle
import sys
from contextlib import suppress
from fnmatch import fnmatchcase

import dlbridge
import foreign
from operations import Operation, all_operations, contents

fail_allocations = ctypes.PyDLL(None).fail_allocations  # preloaded
fail_allocations.restype = ctypes.c_long
# What libraries make of a failed allocation.
FOREIGN = (RuntimeError, BufferError, SystemError, pickle.PickleError)

# pybind11 ends the process if it has no memory for the message of a refused call, for the texts of
# a new function, or for the name of a keyword. These operations are left out; in the others no
# allocation fails for good.
TERMINATED = ("def", "refuse an overload", "from a pointer")
BY_PYBIND11 = (
    "*by_def",
    "*by_library",
    "*overload",
    "a m*",
    "a result for*",
    "like*",
)


def attempt(operation: Operation, successes: int, for_good: int) -> int:
    """Runs an operation whose allocations fail after some. Returns how many failed."""
    before = foreign.accounts()
    x = operation.make()
    expected = contents(x)
    fail_allocations(successes, for_good)
    try:
        operation.run(x)
    except Exception as raised:
        failed = fail_allocations(-1, 0)
        of_pybind11 = str(raised).startswith("Unable to convert function return value")
        if not isinstance(raised, (MemoryError, *FOREIGN)) and not of_pybind11:
            raise
        del raised
    else:
        failed = fail_allocations(-1, 0)
    assert contents(x) == expected
    del x
    gc.collect()
    exports, calls = (now - then for now, then in zip(foreign.accounts(), before))
    assert exports == calls, f"{exports} exports, {calls} deleter calls"
    return int(failed)


def check(name: str) -> int:
    """Runs one operation with every allocation failing in turn. Returns the number of failures."""
    operation = all_operations()[name]
    with suppress(BufferError):  # a C++ exception: the first one of a thread allocates its storage,
        dlbridge.as_tensor(b"abc").__dlpack__()  # without which glibc ends the process
    for _ in range(3):  # what is imported, interned or cached on first use
        operation.run(operation.make())
    count = 0
    by_pybind11 = any(fnmatchcase(name, pattern) for pattern in BY_PYBIND11)
    for for_good in (0,) if by_pybind11 else (0, 1):
        successes = 0
        while failed := attempt(operation, successes, for_good):
            count += failed > 0
            successes += 1
            assert successes < 5000
    return count


if __name__ == "__main__":
    for each in sys.argv[1:] or [name for name in all_operations() if name not in TERMINATED]:
        print(f"{each}: {check(each)} failed allocations", flush=True)
