# SPDX-License-Identifier: BSD-3-Clause
"""How the cost of a call grows: with bytes, live tensors, tensors per call, elements of a list,
types and rank.

The first point of a series is the paired ratio of the call to an empty call. The others are paired
with the call at the first x, which varies less than an empty call does. So a slope is in empty
calls for each step of x.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Callable

import bench_loop
import numpy as np
from bare_producer import Bare
from calls import Libraries
from paired import Case, Effort, Ratio, compare

import dlbridge


@dataclass
class Series:
    """One call at several x, with the line that fits best."""

    label: str
    first: Case
    unit: float  # empty calls of the first point
    points: list[dict[str, float]] = field(default_factory=list)

    def add(self, x: float, ratio: Ratio, first_ratio: float = 1.0) -> None:
        """Adds a point by its ratio to the anchor, whose ratio at the first x was first_ratio."""
        scale = self.unit / first_ratio
        self.points.append({"x": x, "multiple": ratio.median * scale, "least": ratio.least * scale,
                            "most": ratio.most * scale, "ns": ratio.a_ns})  # fmt: skip

    def fit(self) -> tuple[float, float]:
        """The slope and R² of the least-squares line."""
        x = np.array([each["x"] for each in self.points])
        y = np.array([each["multiple"] for each in self.points])
        slope, start = np.polyfit(x, y, 1)
        spread = float(((y - y.mean()) ** 2).sum())
        rest = float(((y - (slope * x + start)) ** 2).sum())
        return float(slope), 1 - rest / spread if spread > 0 else 1.0

    def summary(self) -> dict[str, Any]:
        slope, r2 = self.fit()
        last_to_first = self.points[-1]["multiple"] / self.points[0]["multiple"]
        return {"label": self.label, "points": self.points, "slope": slope, "r2": r2,
                "last_to_first": last_to_first}  # fmt: skip


Step = tuple[float, dict[str, Case]]  # x, and the calls at x by their label
Steps = Iterator[Step]


def of(function: Callable[..., Any], *arguments: Any) -> Case:
    return Case("", function, arguments)


def imports(x: Any, kind: str, libraries: Libraries) -> dict[str, Case]:
    """The import of one object by dlbridge and by its fastest competitors."""
    found = {f"dlbridge.from_dlpack({kind})": of(dlbridge.from_dlpack, x)}
    if kind == "ndarray":
        found["np.from_dlpack(ndarray)"] = of(np.from_dlpack, x)
    if libraries.tvm_ffi is not None:
        found[f"tvm_ffi.from_dlpack({kind})"] = of(libraries.tvm_ffi.from_dlpack, x)
    return found


def by_bytes(libraries: Libraries, quick: bool) -> Steps:
    for power in (10, 30) if quick else range(10, 31, 4):
        count = (1 << power) // 4
        array, bare = np.zeros(count, dtype="float32"), Bare((count,))  # untouched pages
        cases = {**imports(array, "ndarray", libraries), **imports(bare, "bare C", libraries)}
        yield 1 << power, cases


def by_rank(libraries: Libraries, quick: bool) -> Steps:
    for rank in (0, 1, 2, 4, 8) if quick else range(9):
        shape = (2,) * rank
        array, bare = np.zeros(shape, dtype="float32"), Bare(shape)
        yield rank, {**imports(array, "ndarray", libraries), **imports(bare, "bare C", libraries)}


def by_live_tensors(libraries: Libraries, quick: bool) -> Steps:
    """The tensors that are alive are dlbridge's, of as many different exports."""
    array, bare = np.zeros((2, 3), dtype="float32"), Bare((2, 3))
    cases = {
        "dlbridge.from_dlpack(ndarray)": of(dlbridge.from_dlpack, array),
        "dlbridge.from_dlpack(bare C)": of(dlbridge.from_dlpack, bare),
    }
    alive: list[Any] = []
    for count in (0, 1000) if quick else (0, 10, 100, 1000, 10_000, 100_000, 1_000_000):
        alive += [dlbridge.from_dlpack(array) for _ in range(count - len(alive))]
        yield count, cases


def by_tensors(libraries: Libraries, quick: bool) -> Steps:
    import arguments_dlbridge as ours

    arrays: dict[str, Any] = {"ndarray": np.zeros((2, 3), dtype="float32")}
    arrays["Tensor"] = dlbridge.from_dlpack(arrays["ndarray"])
    arrays["bare C"] = Bare((2, 3))
    if libraries.torch is not None:
        arrays["torch"] = libraries.torch.zeros(2, 3)
    for count in (1, 2, 4, 8, 16) if quick else (1, 2, 4, 8, 16, 32, 64):
        cases = {}
        for kind, x in arrays.items():
            xs = (x,) * count
            cases[f"def_fast({kind})"] = of(getattr(ours, f"fast{count}"), *xs)
            if libraries.tvm_ffi is not None:
                nop = libraries.tvm_ffi.get_global_func("testing.nop")
                cases[f"tvm_ffi nop({kind})"] = of(nop, *xs)
            if libraries.nanobind is not None and kind != "torch":
                function = getattr(libraries.nanobind, f"argument{count}")
                cases[f"nanobind ndarray({kind})"] = of(function, *xs)
        yield count, cases


def by_elements(libraries: Libraries, quick: bool) -> Steps:
    """Lists of one array each time: the elements that a function takes as a container."""
    import arguments_dlbridge as ours

    arrays: dict[str, Any] = {"ndarray": np.zeros((2, 3), dtype="float32")}
    if libraries.torch is not None:
        arrays["torch"] = libraries.torch.zeros(2, 3)
    for count in (1, 100) if quick else (1, 10, 100, 1000, 10_000):
        cases = {}
        for kind, x in arrays.items():
            given = [x] * count
            cases[f"def_fast({kind})"] = of(ours.fast_list, given)
            if libraries.tvm_ffi is not None:
                nop = libraries.tvm_ffi.get_global_func("testing.nop")
                cases[f"tvm_ffi nop({kind})"] = of(nop, given)
            if libraries.nanobind is not None and kind != "torch":
                cases[f"nanobind ndarray({kind})"] = of(libraries.nanobind.argument_list, given)
        yield count, cases


def by_types(libraries: Libraries, quick: bool) -> Steps:
    """Calls whose argument is of another type each time. The types are subclasses of Bare."""
    objects = tuple(type(f"Bare{i}", (Bare,), {})((2, 3)) for i in range(256))
    for count in (1, 256) if quick else (1, 8, 32, 64, 128, 256):
        over = objects[:count]
        cases = {"dlbridge.from_dlpack": Case("", dlbridge.from_dlpack, over=over)}
        if libraries.tvm_ffi is not None:
            cases["tvm_ffi.from_dlpack"] = Case("", libraries.tvm_ffi.from_dlpack, over=over)
        cases["np.from_dlpack"] = Case("", np.from_dlpack, over=over)
        yield count, cases


@dataclass(frozen=True)
class Sweep:
    name: str
    x: str
    steps: Callable[[Libraries, bool], Steps]
    logarithmic: bool = False
    needs: str = ""  # a module that the sweep imports
    of_the_process: bool = False  # x is a state of the process; np.from_dlpack is the anchor


SWEEPS = (
    Sweep("bytes", "bytes of the tensor", by_bytes, logarithmic=True),
    Sweep(
        "live tensors",
        "tensors that are alive",
        by_live_tensors,
        logarithmic=True,
        of_the_process=True,
    ),
    Sweep("tensors per call", "tensors per call", by_tensors, needs="arguments_dlbridge"),
    Sweep("elements of a list", "arrays in the list", by_elements, needs="arguments_dlbridge"),
    Sweep("types", "types of the arguments, in turn", by_types, logarithmic=True),
    Sweep("rank", "rank", by_rank),
)


def measure(
    libraries: Libraries, effort: Effort, quick: bool, missing: dict[str, str]
) -> list[dict[str, Any]]:
    results = []
    for sweep in SWEEPS:
        if sweep.needs in missing:
            continue
        series: dict[str, Series] = {}
        first_ratios: dict[str, float] = {}
        for x, cases in sweep.steps(libraries, quick):
            for label, case in cases.items():
                if label not in series:
                    empty = Case("", bench_loop.empty, case.arguments, over=case.over)
                    series[label] = Series(label, case, compare(case, empty, effort).median)
                anchor = series[label].first
                if sweep.of_the_process:  # the first call is affected too
                    anchor = of(np.from_dlpack, np.zeros((2, 3), dtype="float32"))
                ratio = compare(case, anchor, effort)
                first_ratios.setdefault(label, ratio.median)
                series[label].add(x, ratio, first_ratios[label])
        results.append({"name": sweep.name, "x": sweep.x, "logarithmic": sweep.logarithmic,
                        "series": [each.summary() for each in series.values()]})  # fmt: skip
    return results
