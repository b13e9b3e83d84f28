"""The library in pure Python by the rules of DLPack: what it keeps, and the two it cannot keep."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def report():
    command = ["-m", "dlbridge", "conformance", "plain:Plain", "--json"]
    done = subprocess.run([sys.executable, *command], cwd=HERE, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    return json.loads(done.stdout)


def test_python_cannot_keep_two(report):
    bad = {it["id"] for it in report["results"] if it["outcome"] in ("fail", "crash", "warn")}
    assert bad == {"X-02", "X-05"}


def test_it_keeps_the_others(report):
    passed = {it["id"] for it in report["results"] if it["outcome"] == "pass"}
    producer = {f"P-{number:02}" for number in range(1, 33)}
    assert producer - passed == {"P-17", "P-27", "P-29"}  # no bool, no other device
    assert {"X-01", "X-03", "X-04", "X-07", "X-08", "X-11"} <= passed
