# SPDX-License-Identifier: BSD-3-Clause
"""Counts the instructions of calls with callgrind, and of an empty call in the same run.

The counts are the same in every run with one build of CPython, NumPy and libc, whatever else the
machine does. The program runs itself again below valgrind, without the libraries that are slow to
import there.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

COUNT = 1000
TIMEOUT_S = 600


def child() -> int:
    """Profiles the calls, one file for each, and prints their names."""
    import bench_loop
    import calls
    from limits import LIMITS

    everything = calls.Calls()
    arrays = calls.producers(calls.Libraries(None, None, None, None))
    everything.add("anchors", calls.EMPTY, bench_loop.empty, arrays["ndarray"])
    calls.add_imports(everything, calls.Libraries(None, None, None, None), arrays)
    calls.add_conversions(everything, arrays)
    calls.add_exports(everything, arrays)
    calls.add_arguments(everything, calls.Libraries(None, None, None, None), arrays)
    calls.add_returns(everything, calls.Libraries(None, None, None, None), arrays)
    calls.add_compiled(everything, arrays)
    counted = [each for each in LIMITS if "instructions" in each.kind]
    wanted = dict.fromkeys(
        [calls.EMPTY, *(name for each in counted for name in (each.ours, each.theirs))]
    )
    profiled = []
    for name in wanted:
        case = everything.cases.get(name)
        if case is not None:
            arguments = (case.function, case.arguments, case.keywords, COUNT, case.fails)
            if not bench_loop.profile(*arguments):
                return 1
            profiled.append(name)
    print(json.dumps(profiled))
    return 0


def measure() -> tuple[dict[str, float], str]:
    """Instructions per call by name, and why there are none if there are none."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return {}, "valgrind is not installed"
    if importlib.util.find_spec("bench_loop") is None:
        return {}, "bench_loop is not built"
    with tempfile.TemporaryDirectory() as folder:
        command = [valgrind, "--tool=callgrind", "--instr-atstart=no", "-q",
                   f"--callgrind-out-file={folder}/out", sys.executable, __file__]  # fmt: skip
        environment = {**os.environ, "PYTHONMALLOC": "default", "PYTHONHASHSEED": "0"}
        # NumPy's BLAS would start a thread for each processor.
        environment.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True,
                                  timeout=TIMEOUT_S)  # fmt: skip
        except subprocess.TimeoutExpired:
            return {}, f"callgrind took more than {TIMEOUT_S} s"
        if done.returncode == 1 and not done.stderr:
            return {}, "bench_loop is built without valgrind/callgrind.h"
        if done.returncode != 0:
            return {}, f"callgrind failed: {(done.stderr.strip().splitlines() or ['?'])[-1][:200]}"
        names = json.loads(done.stdout.strip().splitlines()[-1])
        counts = {}
        for index, name in enumerate(names, start=1):  # one file for each profile
            text = Path(folder, f"out.{index}").read_text()
            totals = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
            if totals is None:
                return {}, "callgrind wrote no totals"
            counts[name] = int(totals[1]) / COUNT
    return counts, ""


if __name__ == "__main__":
    sys.exit(child())
