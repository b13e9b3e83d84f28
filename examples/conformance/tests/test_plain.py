# SPDX-License-Identifier: BSD-3-Clause
"""Conformance of the library in pure Python: no rule fails, and two do not hold."""

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
    assert result.returncode == 0, result.stdout + result.stderr
    return json.loads(result.stdout)


def test_two_rules_do_not_hold(report):
    broken = {it["id"]: it["outcome"] for it in report["results"]
              if it["outcome"] not in ("pass", "skip")}  # fmt: skip
    assert broken == {"X-02": "note", "X-05": "warn"}


def test_the_other_rules_hold(report):
    held = {it["id"] for it in report["results"] if it["outcome"] == "pass"}
    assert {"P-01", "P-04", "P-10", "P-11", "P-24", "P-26", "P-39", "P-44", "P-47"} <= held
    assert {"X-01", "X-03", "X-04", "X-07", "X-08", "X-11"} <= held
