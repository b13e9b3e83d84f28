# SPDX-License-Identifier: BSD-3-Clause
"""Without a usable driver, the reason reaches the caller of every function."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from simulated import Driver

# What a program does on a machine without a driver, or with one that fails; prints the exceptions.
PROGRAM = """
import ctypes, sys
import numpy as np, dlbridge

if len(sys.argv) > 1:
    ctypes.CDLL("libcuda.so.1").simulated_fail_function(b"cuInit", int(sys.argv[1]))

def show(call):
    try:
        print("no exception", call())
    except Exception as raised:
        chain = []
        while raised is not None:
            chain.append(type(raised).__name__ + ": " + str(raised))
            raised = raised.__cause__
        print(" <- ".join(chain))

x = np.arange(3)
t = dlbridge.from_dlpack(x)
show(lambda: dlbridge.from_dlpack(x, device={device!r}))
show(lambda: dlbridge.from_dlpack(x, device={device!r}, copy=True))
show(lambda: dlbridge.from_dlpack(t, device={device!r}))
show(lambda: dlbridge.as_tensor(b"abc", device={device!r}))
show(lambda: t.__dlpack__(dl_device={pair}))
"""
PAIRS = {"cuda:0": (2, 0), "rocm:0": (10, 0), "cuda_host:0": (3, 0), "cuda_managed:0": (13, 0)}


def output_of(device: str, *arguments: str, folder: str | None = None) -> list[str]:
    """The lines of the program. folder: where the loader looks for drivers."""
    program = PROGRAM.format(device=device, pair=PAIRS[device])
    environment = os.environ if folder is None else {**os.environ, "LD_LIBRARY_PATH": folder}
    process = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return process.stdout.splitlines()


def check(lines: list[str], *words: str) -> None:
    """All but __dlpack__ raise RuntimeError; that one raises the BufferError of the standard."""
    kinds = [line.split(":")[0] for line in lines]
    assert kinds == [*["RuntimeError"] * 4, "BufferError"], lines
    for line in lines:
        reason = line[line.index("RuntimeError") :]
        assert any(word in reason for word in words), line


@pytest.mark.parametrize("device", PAIRS)
def test_no_driver(device: str) -> None:
    """The reason names the files. Debian's runtime of ROCm may be installed, without a device."""
    files = ("libamdhip64.so.6", "hipInit") if "rocm" in device else ("libcuda.so.1",)
    check(output_of(device, folder=""), *files)


@pytest.mark.parametrize("code", [803, 802, 46, 100, 999])
def test_a_driver_that_fails(code: int) -> None:
    lines = output_of("cuda:0", str(code))
    check(lines, f"({code})")
    assert all("cuInit" in line for line in lines)


def test_the_producer_is_named_as_the_cause() -> None:
    lines = output_of("cuda:0", folder="")
    assert any("unsupported device" in line for line in lines), "NumPy's own exception"


def test_with_a_driver() -> None:
    assert Driver("cuda").kind == "cuda"
    lines = output_of("cuda:0")
    assert len(lines) == 5 and all(line.startswith("no exception") for line in lines), lines
