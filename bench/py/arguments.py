"""Measures a call with tensor arguments, compared with an empty call and with other bindings.

Prints paired ratios (paired.py) with their limits, and which checks the other bindings omit. With
--check the exit status is 1 if a ratio exceeds its limit.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import Any

import arguments_dlbridge as ours
import arguments_nanobind as nanobind
import bench_loop
import numpy as np
import paired
import torch
import tvm_ffi
from paired import Case

import dlbridge

NANOBIND = (
    "nanobind checks dtype and device, but not version, flags and overflow; it passes no stream"
)
TVM_FFI = "tvm_ffi checks nothing: its function takes any objects"


@dataclass(frozen=True)
class Comparison:
    """A call of dlbridge, another call, and the limit of their ratio, if it has one."""

    ours: Case
    theirs: Case
    limit: float | None = None


def comparisons() -> list[Comparison]:
    array = np.arange(6, dtype="float32").reshape(2, 3)
    tensor = dlbridge.from_dlpack(array)
    theirs = torch.arange(6.0).reshape(2, 3)
    nop = tvm_ffi.get_global_func("testing.nop")

    def case(name: str, function: Any, *arguments: Any, note: str = "") -> Case:
        kind = type(arguments[0])
        label = f"{name}({kind.__module__.split('.')[0]} x{len(arguments)})"
        return Case(label, function, arguments, note=note)

    def empty(*arguments: Any) -> Case:
        return case("empty function", bench_loop.empty, *arguments)

    def tvm(*arguments: Any) -> Case:
        return case("tvm_ffi nop", nop, *arguments, note=TVM_FFI)

    def nano(function: Any, *arguments: Any) -> Case:
        return case("nanobind ndarray", function, *arguments, note=NANOBIND)

    three, three_torch = (tensor,) * 3, (theirs,) * 3
    fast, caster = case("def_fast", ours.fast, tensor), case("caster", ours.caster, tensor)
    return [
        Comparison(fast, empty(tensor), 2.05),
        Comparison(fast, tvm(tensor), 0.10),
        Comparison(fast, nano(nanobind.argument, tensor), 0.20),
        Comparison(case("def_fast", ours.fast3, *three), tvm(*three)),
        Comparison(case("def_fast row-major matrix", ours.fast_matrix, tensor), fast),
        Comparison(case("def_fast", ours.fast, theirs), tvm(theirs), 0.33),
        Comparison(case("def_fast", ours.fast3, *three_torch), tvm(*three_torch), 0.57),
        Comparison(case("def_fast", ours.fast, theirs), nano(nanobind.argument, theirs), 0.035),
        Comparison(
            case("def_fast owned", ours.fast_owned, theirs),
            Case("torch's table call", bench_loop.own_by_table, (theirs,)),
            1.40,
        ),
        Comparison(
            case("def_fast owned", ours.fast_owned, theirs),
            Case("tvm_ffi.from_dlpack(torch)", tvm_ffi.from_dlpack, (theirs,)),
            0.46,
        ),
        Comparison(caster, case("pybind11 no-op", ours.object, tensor), 1.55),
        Comparison(caster, nano(nanobind.argument, tensor), 0.72),
        Comparison(case("caster", ours.caster3, *three), tvm(*three), 0.45),
        Comparison(case("def", getattr(ours, "def"), tensor), nano(nanobind.argument, tensor)),
        Comparison(case("def", ours.def3, *three), tvm(*three)),
        Comparison(case("def_fast", ours.fast, array), nano(nanobind.argument, array)),
        Comparison(case("caster", ours.caster, array), nano(nanobind.argument, array)),
        Comparison(case("def_fast", ours.fast, array), tvm(array)),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a ratio exceeds its limit")
    parser.add_argument("--quick", action="store_true", help="few repeats, to test the benchmark")
    options = parser.parse_args()
    if options.quick:
        paired.REPEATS, paired.PAIRS = 1, 5
    paired.quiet()
    pairs = comparisons()
    same = paired.guard(pairs[0].ours)
    print(f"A/A guard {same}")
    if options.check and not paired.trusted(same):
        print("the machine is too noisy: the same call differs by more than 1 % between repeats")
        return 1
    over = 0
    for pair in pairs:
        ratio = paired.compare(pair.ours, pair.theirs)
        for _ in range(2):  # repeats, as the machine may have had a slow phase
            if pair.limit is None or ratio.median <= pair.limit:
                break
            ratio = paired.compare(pair.ours, pair.theirs)
        limit = "" if pair.limit is None else f"at most {pair.limit}"
        is_over = pair.limit is not None and ratio.median > pair.limit
        over += is_over
        print(f"{pair.ours.name:26} : {pair.theirs.name:30} {ratio}  {limit}"
              f"{'  OVER' if is_over else ''}")  # fmt: skip
    print(f"omitted: {NANOBIND}; {TVM_FFI}")
    return int(options.check and over > 0)


if __name__ == "__main__":
    sys.exit(main())
