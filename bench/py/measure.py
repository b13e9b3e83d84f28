# SPDX-License-Identifier: BSD-3-Clause
"""Measures dlbridge beside the other libraries, and judges the limits of limits.py.

    measure.py --json FILE            everything: three processes, all sweeps, instructions
    measure.py --quick                few repeats; with --gates CI's judgement

The exit status with --gates is 1 if a gate is missed, and 3 if a gate could not be judged.
bench/report.py turns the JSON into a page and plots.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import instructions
import quiet_machine
import start
from limits import (
    EMPTY_INSTRUCTIONS,
    INSTRUCTIONS_OF,
    LIMITS,
    OTHER_BUILD_SLACK,
    SLACK,
    TRIES,
    Limit,
)

Json = dict[str, Any]
MISSED, NOT_JUDGED = 1, 3  # exit statuses
PROCESSES = 3  # the addresses of code and data differ, and affect short calls
BEGIN = time.monotonic()
HERE = Path(__file__).resolve().parent


# ---- one process that measures ----


def worker(options: argparse.Namespace) -> Json:
    """Measures in this process. The imports are here, as only a worker needs the libraries."""
    import calls
    import growth
    import paired

    effort = paired.QUICK if options.quick else paired.Effort()
    everything, libraries = calls.all_calls()
    paired.quiet()
    empty = everything.cases[calls.EMPTY]
    anchor = everything.cases["np.from_dlpack(ndarray)"]
    wanted = SLACK / 2 if options.quick else quiet_machine.TRUSTED
    same = quiet_machine.wait(
        lambda: paired.compare(anchor, anchor, effort).noise, wanted, effort.patience_s
    )
    print(same, flush=True)

    def judged(limit: Limit) -> Json:
        theirs = (limit.theirs,) if isinstance(limit.theirs, str) else limit.theirs
        absent = [name for name in (limit.ours, *theirs) if name not in everything.cases]
        if limit.ours in absent or len(absent) == len(theirs):
            return {"reason": "; ".join(dict.fromkeys(map(everything.why_not, absent)))}
        ours = everything.cases[limit.ours]
        ratios = {name: paired.compare(ours, everything.cases[name], effort)
                  for name in theirs if name not in absent}  # fmt: skip
        fastest = max(ratios, key=lambda name: ratios[name].median)
        return {"theirs": fastest, **asdict(ratios[fastest])}

    only = set(options.only.split(",")) if options.only else set()
    result: Json = {
        "guard": {**asdict(same), "noise": same.noise, "quiet": same.quiet},
        "missing": everything.missing,
        "refused": everything.refused,
        "omitted": calls.OMITTED,
        "limits": {each.id: judged(each) for each in LIMITS
                   if each.kind == "time" and (not only or each.id in only)},
    }  # fmt: skip
    if options.calls:
        result["calls"] = [
            {"group": group, "name": name,
             **asdict(paired.compare(everything.cases[name], empty, effort))}
            for group, names in everything.groups.items() for name in names
        ]  # fmt: skip
    if options.growth:
        result["growth"] = growth.measure(libraries, effort, options.quick, everything.missing)
    return result


# ---- the process that starts the workers, and judges ----


def run_worker(options: argparse.Namespace, *flags: str) -> Json:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "result.json"
        flags = (*flags, "--quick") if options.quick else flags
        command = [sys.executable, __file__, "--worker", "--json", str(file), *flags]
        subprocess.run(command, check=True)
        result: Json = json.loads(file.read_text())
        return result


def merged(results: list[Json]) -> Json:
    """The ratio of several processes: the median of the medians, and the whole range."""
    results = [each for each in results if "median" in each] or results[:1]
    if "median" not in results[0]:
        return results[0]
    values = {key: statistics.median(each[key] for each in results)
              for key in ("median", "a_ns", "b_ns")}  # fmt: skip
    return {**results[0], **values, "least": min(each["least"] for each in results),
            "most": max(each["most"] for each in results)}  # fmt: skip


def run_threads(options: argparse.Namespace) -> list[Json]:
    """Runs threads.py with this interpreter, and with a free-threaded one if there is one."""
    programs = [(sys.executable, dict(os.environ))]
    if options.free_threaded:  # has packages of its own
        programs.append((options.free_threaded, {k: v for k, v in os.environ.items()
                                                 if k != "PYTHONPATH"}))  # fmt: skip
    results = []
    for python, environment in programs:
        done = subprocess.run([python, str(HERE / "threads.py"), "3" if options.quick else "15"],
                              env=environment, capture_output=True, text=True)  # fmt: skip
        if done.returncode == 0:
            results.append(json.loads(done.stdout))
        else:
            print(f"threads.py failed: {done.stderr.strip().splitlines()[-1]}")
    return results


def of_growth(limit: Limit, report: Json) -> Json:
    """The value of a row about a sweep, whose `ours` is "sweep: series"."""
    name, _, label = limit.ours.partition(": ")
    sweep = {each["name"]: each for each in report["growth"]}.get(name)
    series = {each["label"]: each for each in sweep["series"]} if sweep else {}
    if label not in series:
        return {"reason": f"{limit.ours} was not measured"}
    ours = series[label]
    if limit.theirs == "last / first":
        return {"median": ours["last_to_first"]}
    if limit.theirs == "1 - R² of a line":
        return {"median": 1 - ours["r2"]}
    return {"median": ours["slope"]}  # in empty calls


def of_threads(limit: Limit, report: Json) -> Json:
    label = limit.ours.partition(": ")[2]
    without = [each for each in report["threads"] if not each["gil"]]
    if not without:
        return {"reason": "there is no interpreter without the GIL (--free-threaded)"}
    rates = without[0]["rates"]
    scaling = {name: each["2"] / each["1"] for name, each in rates.items()}
    if scaling["empty call"] < 1.5:
        return {"reason": f"two threads made {scaling['empty call']:.2f} times the empty calls of "
                          "one: no second processor was idle"}  # fmt: skip
    return {"median": scaling[label] / scaling["empty call"]}


def of_start(limit: Limit, report: Json) -> Json:
    value = report["start"][limit.id]
    if value is None:
        return {"reason": "no wheel was given (--wheel)"}
    if isinstance(value, list):
        return {"median": value[0], "least": value[1], "most": value[2]}
    return {"median": value}


def of_instructions(limit: Limit, report: Json) -> Json:
    counts = report["instructions"]["counts"]
    if limit.ours not in counts or limit.theirs not in counts:
        return {"reason": report["instructions"]["reason"] or f"{limit.ours} was not counted"}
    if limit.kind == "ratio of instructions":
        return {"median": counts[limit.ours] / counts[str(limit.theirs)]}
    more = counts[limit.ours] - counts[str(limit.theirs)]
    here = (".".join(platform.python_version_tuple()[:2]), platform.machine())
    if here != INSTRUCTIONS_OF:
        reason = f"the limit is for CPython {INSTRUCTIONS_OF[0]} on {INSTRUCTIONS_OF[1]}"
        return {"median": more, "reason": reason}
    if abs(counts["empty call"] - EMPTY_INSTRUCTIONS) > 1:
        return {"median": more, "slack": OTHER_BUILD_SLACK}
    return {"median": more}


def is_judged(result: Json) -> bool:
    """Whether there is a value, and no reason why it says nothing about the limit."""
    return "median" in result and not result.get("reason")


def verdict(limit: Limit, result: Json) -> str:
    if not is_judged(result):
        return "not measured"
    if limit.limit is None:
        return ""
    value = result["median"]
    if "slack" in result:  # the limit is for another build of CPython
        met = within_slack(limit, result)
    else:
        met = value >= limit.limit if limit.kind == "at least" else value <= limit.limit
    return "met" if met else "missed"


def within_slack(limit: Limit, result: Json) -> bool:
    assert limit.limit is not None
    slack = result.get("slack", limit.slack)
    return bool(result["median"] <= limit.limit * (1 + slack))


def environment() -> Json:
    packages = ("numpy", "torch", "jax", "apache-tvm-ffi", "nanobind", "pybind11", "dlbridge")
    versions = {}
    for name in packages:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    processor = platform.processor()
    if (cpuinfo := Path("/proc/cpuinfo")).exists():
        lines = cpuinfo.read_text().splitlines()
        models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        processor = models[0] if models else processor
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "commit": os.environ.get("DLBRIDGE_COMMIT", "unknown"),  # set by noxfile.py
        "python": platform.python_version(),
        "libc": " ".join(platform.libc_ver()),
        "machine": platform.machine(),
        "processor": processor,
        "processors": os.cpu_count(),
        "load": load,
        "versions": versions,
    }


def measure(options: argparse.Namespace) -> Json:
    extra = ["--growth"] if options.quick else ["--growth", "--calls"]
    first = run_worker(options, *extra)
    processes = 1 if options.quick else PROCESSES
    others = [run_worker(options, *extra[1:]) for _ in range(processes - 1)]
    report: Json = {"schema": 1, "quick": options.quick, "environment": environment(), **first}
    report["guards"] = [each["guard"] for each in (first, *others)]
    del report["guard"]
    if "calls" in first:
        report["calls"] = [merged(list(each)) for each in
                           zip(*(result["calls"] for result in (first, *others)))]  # fmt: skip
    report["threads"] = run_threads(options)
    counts, reason = instructions.measure()
    report["instructions"] = {"counts": counts, "reason": reason}
    report["start"] = {
        "import-milliseconds": list(start.milliseconds(5 if options.quick else 41)),
        "wheel-bytes": start.wheel_bytes(options.wheel) if options.wheel else None,
    }
    if options.copies:
        report["copies"] = json.loads(Path(options.copies).read_text())
    if options.cpp_instructions:
        report["cpp_instructions"] = json.loads(Path(options.cpp_instructions).read_text())
    results = {
        each.id: merged([result["limits"][each.id] for result in (first, *others)])
        for each in LIMITS if each.kind == "time"
    }  # fmt: skip
    others_of = {"growth": of_growth, "at least": of_threads, "start": of_start,
                 "instructions": of_instructions,
                 "ratio of instructions": of_instructions}  # fmt: skip
    for limit in LIMITS:
        if limit.kind in others_of:
            results[limit.id] = others_of[limit.kind](limit, report)
    report["limits"] = [
        {**asdict(each), **results[each.id], "verdict": verdict(each, results[each.id])}
        for each in LIMITS
    ]
    return report


# ---- gates ----


def check_gates(options: argparse.Namespace, report: Json) -> int:
    """Repeats the gates that exceed their limits, each time in a new process, and judges them.
    Times are not judged on a machine that is noisier than half of the slack."""
    rows = {each["id"]: each for each in report["limits"]}
    gates = [each for each in LIMITS if each.gate]

    def missed() -> list[Limit]:
        judged = [each for each in gates if is_judged(rows[each.id])]
        return [each for each in judged if not within_slack(each, rows[each.id])]

    guards = report["guards"]
    for _ in range(TRIES - 1):
        again = [each.id for each in missed() if each.kind == "time"]
        if not again:
            break
        repeated = run_worker(options, "--only", ",".join(again))
        guards.append(repeated["guard"])
        for name, result in repeated["limits"].items():
            rows[name].update(result)
    noise = guards[-1]["noise"]
    over: list[str] = []
    open_: list[str] = []
    for each in gates:
        row = rows[each.id]
        if not is_judged(row):
            print(f"GATE NOT JUDGED {each.id}: {row.get('reason', 'not measured')}")
            open_.append(each.id)
        elif within_slack(each, row):
            continue
        elif each.kind == "time" and noise > SLACK / 2:
            print(f"GATE NOT JUDGED {each.id}: {row['median']:.3f} of {row['theirs']} exceeds "
                  f"{each.limit}, but the machine is too noisy ({100 * noise:.1f} %)")  # fmt: skip
            open_.append(each.id)
        else:
            slack = row.get("slack", each.slack)
            print(f"GATE MISSED {each.id}: {row['median']:.3f}, and at most {each.limit} and "
                  f"{100 * slack:.0f} % slack ({each.ours} : {row['theirs']})")  # fmt: skip
            over.append(each.id)
    met = len(gates) - len(over) - len(open_)
    # In the form of pytest's last line, which the summary of `noxfile.py tests` adds up.
    counts = {"passed": met, "failed": len(over), "skipped": len(open_)}
    text = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    print(f"{text} in {time.monotonic() - BEGIN:.1f}s")
    report["gates"] = {"missed": over, "not judged": open_}
    return MISSED if over else NOT_JUDGED if open_ else 0


def show(report: Json) -> None:
    for row in report["limits"]:
        value = f"{row['median']:12.3f}" if "median" in row else " " * 12
        limit = "" if row["limit"] is None else f"{row['limit']:g}"
        gate = "gate" if row["gate"] else ""
        theirs = row["theirs"] if isinstance(row["theirs"], str) else row["theirs"][0]
        print(f"{row['id']:30}{value} {limit:>8} {row['verdict']:12} {gate:4} {row['ours']} : "
              f"{theirs} {row.get('reason', '')}")  # fmt: skip
    for name, why in {**report["missing"], **report["refused"]}.items():
        print(f"not compared: {name}: {why}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", metavar="FILE", help="write the report to a file")
    parser.add_argument("--quick", action="store_true", help="one process and few repeats")
    parser.add_argument("--gates", action="store_true", help="fail if a gate is missed")
    free_threaded = "an interpreter without the GIL that has dlbridge and NumPy"
    parser.add_argument("--free-threaded", metavar="PYTHON", default="", help=free_threaded)
    parser.add_argument("--wheel", metavar="FOLDER", default="", help="the folder of the wheel")
    parser.add_argument("--copies", metavar="FILE", default="", help="the JSON of the copies")
    of_cpp = "the JSON of cpp_instructions.py"
    parser.add_argument("--cpp-instructions", metavar="FILE", default="", help=of_cpp)
    for name in ("--worker", "--calls", "--growth"):
        parser.add_argument(name, action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    report = worker(options) if options.worker else measure(options)
    status = 0
    if not options.worker:
        show(report)
        status = check_gates(options, report) if options.gates else 0
    if options.json:
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
