# SPDX-License-Identifier: BSD-3-Clause
"""Hostile targets: the examination ends in time, and its report is true."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hostile_targets import HOSTILE, Hostile

SECONDS = 5  # the time limit of each step of a target that hangs
ENOUGH = 30  # the limit where every step ends by itself, on a busy machine
IN_TIME = 90  # seconds: two steps come near the limit
PATHS = os.pathsep.join(path or os.getcwd() for path in sys.path)


# A shell lets the processes that it starts in the background ignore SIGINT.
COMMAND = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("dlbridge", run_name="__main__")
"""


def start(folder: Path, *arguments: str, stdout: int = subprocess.PIPE) -> subprocess.Popen[str]:
    """Starts the command in the folder of a target."""
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, "conformance", "hostile:Array", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": PATHS},
    )


def wait_for(path: Path) -> str:
    """Waits for a file with text, which is returned."""
    until = time.monotonic() + IN_TIME
    while not path.exists() or not path.read_text():
        assert time.monotonic() < until, f"there is no {path}"
        time.sleep(0.01)
    return path.read_text()


def exists(process: int) -> bool:
    """Whether a process exists and has not ended; Linux shows the state of one without parent."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for_end(process: int, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while exists(process) and time.monotonic() < until:
        time.sleep(0.05)
    return not exists(process)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_target_ends_in_time_with_a_true_report(name: str, tmp_path: Path) -> None:
    hostile = HOSTILE[name]
    hostile.write(tmp_path)
    chosen = ("--standard=2023.12", "--only=P-01", "--only=P-03")
    limit = SECONDS if "hung" in hostile.words else ENOUGH
    process = start(tmp_path, "--timeout", str(limit), *chosen, "--json")
    try:
        out, err = process.communicate(timeout=IN_TIME)
        assert process.returncode == hostile.status, (out, err)
        if hostile.status == 2:
            assert hostile.words in err
            return
        outcomes = {
            each["id"]: (each["outcome"], each["got"]) for each in json.loads(out)["results"]
        }
        assert outcomes["P-01"][0] == "pass"
        assert outcomes["P-03"][0] == hostile.outcome, outcomes
        assert hostile.words in outcomes["P-03"][1]
        assert len(out) < 20_000
    finally:
        process.kill()
        helper = tmp_path / "helper"
        if helper.exists() and "session" in name:  # it cannot be found by its group
            os.kill(int(helper.read_text()), signal.SIGKILL)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the states of processes")
def test_helpers_end_with_the_examination(tmp_path: Path) -> None:
    HOSTILE["forks a helper"].write(tmp_path)
    process = start(tmp_path, "--only=P-01")
    process.communicate(timeout=IN_TIME)
    assert wait_for_end(int(wait_for(tmp_path / "helper")), 10)


def test_a_target_that_does_not_open_again_keeps_its_report(tmp_path: Path) -> None:
    Hostile(
        at_import="""
if os.path.exists("opened"):
    raise ValueError("only once")
open("opened", "w").close()
""",
        in_export="os.abort()",
    ).write(tmp_path)
    process = start(tmp_path, "--only=P-01", "--only=P-03", "--only=P-04", "--only=P-05", "--json")
    out, _ = process.communicate(timeout=IN_TIME)
    results = {each["id"]: each for each in json.loads(out)["results"]}
    assert [each["outcome"] for each in results.values()] == ["skip", "crash", "skip", "skip"]
    assert results["P-05"]["got"].startswith("the target cannot be opened again: hostile:Array: ")
    assert "ValueError: only once" in results["P-05"]["got"]
    assert process.returncode == 1


# Ctrl-C ------------------------------------------------------------------------------------------

HANGS_ON_VERSION = Hostile(
    in_export="""
if max_version == (1, 0):
    with open("hangs", "w") as file:
        file.write("yes")
    time.sleep(120)
"""
)
RULES = ("--only=P-01", "--only=P-02", "--only=P-05")


def interrupt(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Sends SIGINT to the command once the target hangs."""
    process = start(folder, *RULES, *arguments)
    try:
        wait_for(folder / "hangs")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=IN_TIME)
    finally:
        process.kill()
    return process.returncode, out, err


def test_ctrl_c_gives_a_partial_report(tmp_path: Path) -> None:
    HANGS_ON_VERSION.write(tmp_path)
    status, out, err = interrupt(tmp_path, "--junit=junit.xml", "--badge=badge.json")
    assert (status, err) == (130, "")
    assert "skip          P-05: interrupted\n" in out
    assert out.endswith(
        "\ninterrupted: the rules that did not run are skipped\n\n2 of 3 pass, 1 skip\n"
    )
    assert 'message="interrupted"' in (tmp_path / "junit.xml").read_text()
    assert json.loads((tmp_path / "badge.json").read_text())["message"] == "interrupted"


def test_ctrl_c_gives_a_partial_object(tmp_path: Path) -> None:
    HANGS_ON_VERSION.write(tmp_path)
    status, out, err = interrupt(tmp_path, "--json")
    assert (status, err) == (130, "")
    document = json.loads(out)
    assert document["complete"] is False
    assert [each["outcome"] for each in document["results"]] == ["pass", "pass", "skip"]


def test_ctrl_c_while_the_target_opens(tmp_path: Path) -> None:
    Hostile(at_import='open("hangs", "w").write("yes")\ntime.sleep(120)').write(tmp_path)
    status, out, err = interrupt(tmp_path, "--json")
    assert (status, err) == (130, "")
    assert {each["got"] for each in json.loads(out)["results"]} == {"interrupted"}


# Output into a closed pipe -----------------------------------------------------------------------


@pytest.mark.parametrize(("rule", "status"), [("P-01", 0), ("P-03", 1)])
@pytest.mark.parametrize("form", ["--verbose", "--json"])
def test_a_reader_that_leaves_does_not_change_the_status(
    rule: str, status: int, form: str, tmp_path: Path
) -> None:
    Hostile(in_export="raise ValueError").write(tmp_path)
    reading, writing = os.pipe()
    os.close(reading)
    process = start(tmp_path, "--standard=2023.12", f"--only={rule}", form, stdout=writing)
    os.close(writing)
    _, err = process.communicate(timeout=IN_TIME)
    assert (process.returncode, err) == (status, "")


# The child process -------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the states of processes")
def test_a_call_ends_after_its_parent_was_killed(tmp_path: Path) -> None:
    Hostile(
        in_export="""
with open("hangs", "w") as file:
    file.write(str(os.getpid()))
time.sleep(120)
"""
    ).write(tmp_path)
    program = (
        "from dlbridge.tools import children; children.ORPHANED = 1.0;"
        "children.call('hostile:Array.__dlpack__', seconds=1.0, self=None)"
    )
    environment = {**os.environ, "PYTHONPATH": PATHS}
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, env=environment)
    child = int(wait_for(tmp_path / "hangs"))
    parent.kill()
    parent.wait()
    assert wait_for_end(child, 20)
