"""Measures the import and the export of a tensor, compared with other libraries.

Prints ratios by paired timing (paired.py); the times are valid only for this machine. Names the
libraries that are not installed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import sys
from typing import Any

import bench_loop
import numpy as np
import paired
from paired import Case

import dlbridge

VERSION = {"max_version": (1, 3)}


def optional(name: str) -> Any | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def cases() -> tuple[list[tuple[Case, Case]], list[str]]:
    """Pairs of (dlbridge, another library), and the libraries that are not installed."""
    array = np.arange(6, dtype="float32").reshape(2, 3)
    tensor = dlbridge.from_dlpack(array)
    take = Case("dlbridge.from_dlpack(ndarray)", dlbridge.from_dlpack, (array,))
    retake = Case("dlbridge.from_dlpack(Tensor)", dlbridge.from_dlpack, (tensor,))
    give = Case("Tensor.__dlpack__(max_version)", dlbridge.Tensor.__dlpack__, (tensor,), VERSION)
    numpy_take = Case("np.from_dlpack(ndarray)", np.from_dlpack, (array,))
    numpy_give = Case("ndarray.__dlpack__(max_version)", np.ndarray.__dlpack__, (array,), VERSION)
    pairs = [
        (take, numpy_take),
        (take, numpy_give),
        (retake, numpy_take),
        (give, numpy_give),
        (
            Case("Tensor.__dlpack__()", dlbridge.Tensor.__dlpack__, (tensor,)),
            Case("ndarray.__dlpack__()", np.ndarray.__dlpack__, (array,)),
        ),
        (
            Case("Tensor.__dlpack_device__()", dlbridge.Tensor.__dlpack_device__, (tensor,)),
            Case("ndarray.__dlpack_device__()", np.ndarray.__dlpack_device__, (array,)),
        ),
        (Case("np.from_dlpack(Tensor)", np.from_dlpack, (tensor,)), numpy_take),
        (
            Case("np.asarray(Tensor)", np.asarray, (tensor,)),
            Case("np.asarray(memoryview)", np.asarray, (memoryview(array),)),
        ),
        (retake, Case("empty call", bench_loop.empty, (array,))),
    ]
    torch, tvm_ffi = optional("torch"), optional("tvm_ffi")
    if torch is not None:
        theirs = torch.arange(6.0).reshape(2, 3)
        torch_take = Case("torch.from_dlpack(ndarray)", torch.from_dlpack, (array,))
        pairs += [
            (take, torch_take),
            (
                Case("dlbridge.from_dlpack(torch)", dlbridge.from_dlpack, (theirs,)),
                Case("np.from_dlpack(torch)", np.from_dlpack, (theirs,)),
            ),
            (Case("torch.from_dlpack(Tensor)", torch.from_dlpack, (tensor,)), torch_take),
        ]
    if tvm_ffi is not None:
        note = "tvm_ffi checks neither version nor flags nor extents"
        pairs += [
            (take, Case("tvm_ffi.from_dlpack(ndarray)", tvm_ffi.from_dlpack, (array,), note=note)),
            (
                retake,
                Case("tvm_ffi.from_dlpack(Tensor)", tvm_ffi.from_dlpack, (tensor,), note=note),
            ),
        ]
    optional_modules = (("torch", torch), ("tvm_ffi", tvm_ffi))
    missing = [name for name, module in optional_modules if module is None]
    return pairs, missing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file")
    parser.add_argument("--quick", action="store_true", help="few repeats, to test the benchmark")
    options = parser.parse_args()
    if options.quick:
        paired.REPEATS, paired.PAIRS = 1, 5
    paired.quiet()
    pairs, missing = cases()

    same = paired.guard(pairs[0][0])
    print(f"A/A guard {same}")
    if not options.quick and not paired.trusted(same):
        print("the machine is too noisy: the same call differs by more than 1 % between repeats")
        return 1
    rows: list[dict[str, Any]] = []
    for ours, theirs in pairs:
        ratio = paired.compare(ours, theirs)
        rows.append(vars(ratio))
        note = f"  ({theirs.note})" if theirs.note else ""
        print(f"{ours.name:31} : {theirs.name:33} {ratio}{note}")
    for name in missing:
        print(f"{name} is not installed: not compared")
    if options.json:
        with open(options.json, "w") as out:
            environment = {"python": sys.version, "machine": platform.platform()}
            json.dump(
                {"environment": environment, "guard": vars(same), "ratios": rows}, out, indent=1
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
