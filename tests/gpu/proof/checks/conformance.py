# SPDX-License-Identifier: BSD-3-Clause
"""The conformance tool on the GPU: its rules of stream order, and the defects planted for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from dlbridge.tools import conformance
from proof import peers
from proof.registry import Figures, Skipped, check, require

TESTS = Path(__file__).resolve().parents[2]
ORDER = ("S-10", "S-21", "S-22")


def examine(library: str, target: str, must_pass: tuple[str, ...] = ("S-10",)) -> Figures:
    """The rules of order on an array class; those of `must_pass` must not be skipped."""
    peers.load(library)
    sys.path.insert(0, str(TESTS))  # for the factory
    report = conformance.examine(target, device="cuda", only=ORDER)
    outcomes = {result.id: (result.outcome, result.got) for result in report.results}
    broken = {id: it for id, it in outcomes.items() if it[0] not in ("pass", "skip")}
    require(not broken, broken)
    skipped = [id for id in must_pass if outcomes[id][0] != "pass"]
    if skipped:
        raise Skipped(f"{outcomes[skipped[0]]}")
    return {id: outcome for id, (outcome, _) in outcomes.items()}


@check("torch keeps the rules of stream order, by the conformance tool", simulated=False)
def conformance_of_torch() -> Figures:
    return examine("torch", "torch")


@check("torch arrays of a factory that takes a stream keep them too", simulated=False)
def conformance_of_a_factory() -> Figures:
    return examine("torch", "factory:make")


@check("CuPy keeps the rules of stream order, by the conformance tool", simulated=False)
def conformance_of_cupy() -> Figures:
    return examine("cupy", "cupy")


@check("JAX keeps the rules of stream order, by the conformance tool", simulated=False, limit=90)
def conformance_of_jax() -> Figures:
    return examine("jax", "jax", ())


@check("The conformance tool finds every defect of order that is planted", simulated=False,
       limit=150)  # fmt: skip
def planted_defects() -> Figures:
    pytest = peers.load("pytest")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--color=no",
         str(TESTS / "test_planted.py")],
        capture_output=True, text=True, env={**os.environ, "DLBRIDGE_TEST_PEERS": ""},
    )  # fmt: skip
    last = done.stdout.strip().splitlines()[-1:] or [done.stderr[-300:]]
    require(done.returncode == 0, done.stdout[-300:] or done.stderr[-300:])
    return {"pytest": pytest.__version__, "result": last[0]}
