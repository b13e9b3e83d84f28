# SPDX-License-Identifier: BSD-3-Clause
"""Checks that fail in every way, for the tests of the program that runs them."""

from __future__ import annotations

import atexit
import ctypes
import os
import subprocess
import sys
import time

from proof.driver import Gpu
from proof.registry import Figures, Skipped, check, require


@check("passes")
def passes() -> Figures:
    return {"one": 1, "more": {"two": 2.5}}


@check("does not hold")
def fails() -> None:
    require(False, "a | b\nc")


@check("raises")
def raises() -> None:
    raise ValueError("unexpected")


@check("has nothing to run on")
def skips() -> None:
    raise Skipped("no such library")


@check("crashes")
def crashes() -> None:
    ctypes.string_at(1)


@check("ends the process")
def ends_the_process() -> None:
    os._exit(0)


@check("crashes when the interpreter ends")
def crashes_at_exit() -> None:
    atexit.register(os._exit, 3)


@check("hangs", limit=3)
def hangs() -> None:
    time.sleep(1000)


@check("hangs when the interpreter ends", limit=3)
def hangs_at_exit() -> None:
    atexit.register(time.sleep, 1000)


@check("prints what is not JSON, and not text")
def prints_garbage() -> None:
    print('{"outcome": "failed"', flush=True)
    os.write(1, b"\xff\x00" * 100_000)
    os.write(2, b"\xfe\n" * 100_000)


@check("leaves a process that keeps the output open")
def leaves_a_process() -> None:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])


@check("leaves an error that every later call of this process returns")
def leaves_a_sticky_error() -> None:
    gpu = Gpu("simulated_fail_function")
    gpu.library.simulated_fail_function(b"cuCtxSynchronize", 700)
    gpu.synchronize()


@check("uses the driver after that")
def uses_the_driver_afterwards() -> None:
    Gpu().synchronize()


@check("reads what nothing orders")
def leaves_a_race() -> None:
    gpu = Gpu()
    memory, other = gpu.zeros(), gpu.zeros()
    gpu.fill(gpu.stream(), memory, 7)
    gpu.copy(gpu.stream(), other, memory)
    gpu.synchronize()


@check("does so on purpose", races=True)
def leaves_a_permitted_race() -> None:
    leaves_a_race()


@check("waits for a GPU", simulated=False)
def needs_a_gpu() -> None:
    raise AssertionError


@check("has a known defect", defect="it is slow")
def has_a_defect() -> None:
    require(False, "slow")


@check("has a known defect that is repaired", defect="it was slow")
def has_a_repaired_defect() -> None:
    return None
