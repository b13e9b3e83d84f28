"""Conformance of the library in pure Python: the rules that it passes, and the two it fails."""

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
    result = subprocess.run([sys.executable, *command], cwd=HERE, capture_output=True, text=True)
    assert result.returncode == 1, result.stderr
    return json.loads(result.stdout)


def test_two_rules_fail(report):
    failures = {it["id"] for it in report["results"] if it["outcome"] in ("fail", "crash", "warn")}
    assert failures == {"X-02", "X-05"}


def test_the_other_rules_pass(report):
    passed = {it["id"] for it in report["results"] if it["outcome"] == "pass"}
    producer = {f"P-{number:02}" for number in range(1, 33)}
    assert producer - passed == {"P-17", "P-27", "P-29"}  # no bool, no other device
    assert {"X-01", "X-03", "X-04", "X-07", "X-08", "X-11"} <= passed
