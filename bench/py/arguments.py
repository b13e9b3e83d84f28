"""What does a tensor argument cost, beside an empty call and the other ways to bind a function?

Prints paired ratios (paired.py) with the limit that each is held to, and what either side leaves
out. With --check the exit status is 1 when a ratio is above its limit.
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

NANOBIND = "nanobind checks dtype and device; neither version, flags nor overflow, and no stream"
TVM_FFI = "tvm_ffi checks nothing of it: its function takes any objects"


@dataclass(frozen=True)
class Question:
    """Ours beside theirs, and the most that the ratio may be; None where it is only shown."""

    ours: Case
    theirs: Case
    limit: float | None = None


def questions() -> list[Question]:
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
        Question(fast, empty(tensor), 2.05),
        Question(fast, tvm(tensor), 0.10),
        Question(fast, nano(nanobind.argument, tensor), 0.20),
        Question(case("def_fast", ours.fast3, *three), tvm(*three)),
        Question(case("def_fast row-major matrix", ours.fast_matrix, tensor), fast),
        Question(case("def_fast", ours.fast, theirs), tvm(theirs), 0.33),
        Question(case("def_fast", ours.fast3, *three_torch), tvm(*three_torch), 0.57),
        Question(case("def_fast", ours.fast, theirs), nano(nanobind.argument, theirs), 0.035),
        Question(
            case("def_fast kept", ours.fast_kept, theirs),
            Case("torch's table call", bench_loop.own_by_table, (theirs,)),
            1.40,
        ),
        Question(
            case("def_fast kept", ours.fast_kept, theirs),
            Case("tvm_ffi.from_dlpack(torch)", tvm_ffi.from_dlpack, (theirs,)),
            0.46,
        ),
        Question(caster, case("pybind11 no-op", ours.object, tensor), 1.55),
        Question(caster, nano(nanobind.argument, tensor), 0.72),
        Question(case("caster", ours.caster3, *three), tvm(*three), 0.45),
        Question(case("def", getattr(ours, "def"), tensor), nano(nanobind.argument, tensor)),
        Question(case("def", ours.def3, *three), tvm(*three)),
        Question(case("def_fast", ours.fast, array), nano(nanobind.argument, array)),
        Question(case("caster", ours.caster, array), nano(nanobind.argument, array)),
        Question(case("def_fast", ours.fast, array), tvm(array)),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail when a limit is passed")
    parser.add_argument("--quick", action="store_true", help="few repeats: to see that it runs")
    given = parser.parse_args()
    if given.quick:
        paired.REPEATS, paired.PAIRS = 1, 5
    paired.quiet()
    asked = questions()
    same = paired.guard(asked[0].ours)
    print(f"A/A guard {same}")
    if given.check and not paired.trusted(same):
        print("this machine is too noisy now: a call differs from itself by more than 1 %")
        return 1
    over = 0
    for question in asked:
        ratio = paired.compare(question.ours, question.theirs)
        for _ in range(2):  # a slow phase of the machine is not ours
            if question.limit is None or ratio.median <= question.limit:
                break
            ratio = paired.compare(question.ours, question.theirs)
        limit = "" if question.limit is None else f"at most {question.limit}"
        missed = question.limit is not None and ratio.median > question.limit
        over += missed
        print(f"{question.ours.name:26} : {question.theirs.name:30} {ratio}  {limit}"
              f"{'  OVER' if missed else ''}")  # fmt: skip
    print(f"left out: {NANOBIND}; {TVM_FFI}")
    return int(given.check and over > 0)


if __name__ == "__main__":
    sys.exit(main())
