# SPDX-License-Identifier: BSD-3-Clause
"""Advice for one machine, derived from the report."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from .. import core
from ..libraries import LIBRARIES, RETIRED_PACKAGES
from ..versions import contains, meets

Report = dict[str, Any]

IMPORTABLE = ("returned", "not imported")  # outcomes of libraries whose import has not failed
FAILS = {
    "crashed": "crashes the process",
    "hung": "does not finish",
    "raised": "raises an exception",
}
GPU_BUILDS = {"CUDA": "cuda", "ROCm": "rocm"}


def _title(name: str) -> str:
    return LIBRARIES[name].title if name in LIBRARIES else name


def _exclusive(report: Report) -> list[str]:
    return [
        f"{_title(one)} and {_title(other)} are both installed: import them in separate processes, "
        f"as {reason}."
        for one in report["libraries"]
        for other, reason in LIBRARIES[one].is_exclusive_with.items()
        if other in report["libraries"]
        if all(report["libraries"][each]["outcome"] in IMPORTABLE for each in (one, other))
    ]


def _versions(report: Report) -> list[str]:
    versions = {name: row["version"] for name, row in report["libraries"].items()}
    versions["dlbridge"] = report["dlbridge"]["version"]
    sentences = [
        f"{_title(name)} {version} does not work with {_title(conflict.other)} "
        f"{versions[conflict.other]}: {conflict.reason}."
        for name, version in versions.items()
        for conflict in LIBRARIES[name].conflicts
        if contains(conflict.versions, version) and conflict.other in versions
        if contains(conflict.other_versions, versions[conflict.other])
    ]
    sentences += [
        f"{reason}; {version} is installed."
        for name, version in versions.items()
        for old_versions, reason in LIBRARIES[name].outdated.items()
        if contains(old_versions, version)
    ]
    return sentences


def _numpy_limits(report: Report) -> list[str]:
    numpy = report["libraries"].get("numpy", {}).get("version", "unknown")
    return [
        f"{_title(name)} {row['version']} requires NumPy {row['needs_numpy']}; "
        f"{numpy} is installed."
        for name, row in report["libraries"].items()
        if not meets(numpy, row.get("needs_numpy") or "")
    ]


def _retired(report: Report) -> list[str]:
    reasons = [LIBRARIES[name].retired for name in report["libraries"]]
    reasons += [RETIRED_PACKAGES[name] for name in report["also_installed"]]
    return [f"{reason}." for reason in reasons if reason]


def _openmp(report: Report) -> list[str]:
    runtimes = {name: set(row.get("openmp") or ()) for name, row in report["libraries"].items()}
    sentences = [
        f"{_title(one)} loads {_and(runtimes[one])} OpenMP and {_title(other)} "
        f"{_and(runtimes[other])}: in one process they compete for the cores and can hang; "
        "OMP_NUM_THREADS=1 helps."
        for one, other in combinations(runtimes, 2)
        if runtimes[one] and runtimes[other] and not runtimes[one] & runtimes[other]
    ]
    sentences += [
        f"{_title(name)} alone loads {_and(names)} OpenMP."
        for name, names in runtimes.items()
        if len(names) > 1
    ]
    return sentences


def _and(names: set[str]) -> str:
    return " and ".join(f"{name}'s" for name in sorted(names))


def _gpus(report: Report) -> list[str]:
    sentences = []
    for name, row in report["libraries"].items():
        built_for = row.get("built_for")
        driver = GPU_BUILDS.get((built_for or "").partition(" ")[0])
        if driver and not report["drivers"][driver].get("devices"):
            sentences.append(
                f"{_title(name)} is built for {built_for}, but this machine has no such device."
            )
    return sentences


def _headers(report: Report) -> list[str]:
    return [
        f"{row['include']} has dlpack.h {row['version']}, which is too old for dlbridge: put "
        f"{report['dlbridge']['include'] or 'a newer one'} before it, or remove it."
        for row in report["headers"]
        if row["too_old"]
    ]


def _python(report: Report) -> list[str]:
    missing = report["dlbridge"]["missing"]
    is_wrong = missing not in (None, core.NOT_INSTALLED)  # the tools also work alone
    sentences = [f"{missing[0].upper()}{missing[1:]}."] if is_wrong else []
    if report["python"]["free_threaded"] and not report["python"]["gil"]:
        sentences.append(
            "This Python runs without the GIL. dlbridge has not been tested without it."
        )
    if not any(name in report["compilers"] for name in ("c++", "g++", "clang++")):
        sentences.append("No C++ compiler is on the path: extensions cannot be built here.")
    return sentences


def _cause(report: Report, name: str) -> str | None:
    """Returns an imported library whose own import ends in the same way."""
    row = report["libraries"][name]
    imported = (*LIBRARIES[name].may_import, *(["numpy"] if row.get("needs_numpy") else []))
    for each in imported:
        other = report["libraries"].get(each)
        if not other:
            continue
        if other.get("hidden_by") or all(other[key] == row[key] for key in ("outcome", "said")):
            return each
    return None


def _failures(report: Report) -> list[str]:
    sentences: list[str] = []
    for name, row in report["libraries"].items():
        cause = _cause(report, name) if row["outcome"] not in IMPORTABLE else None
        if row.get("hidden_by"):
            sentences.insert(0, f"{row['hidden_by']} hides {_title(name)}: rename it.")
        elif cause is not None and report["libraries"][cause].get("hidden_by"):
            continue
        elif cause is not None:
            sentences.append(
                f"Importing {_title(name)} {FAILS[row['outcome']]}, as importing {_title(cause)} "
                f"does, which it imports: repair {_title(cause)} first."
            )
        elif row["outcome"] == "crashed":
            sentences.append(
                f"Importing {_title(name)} crashes the process ({row['said']}): reinstall it."
            )
        elif row["outcome"] == "hung":
            sentences.append(f"Importing {_title(name)} does not finish: {row['said']}.")
        elif row.get("file_here"):
            sentences.append(
                f"Importing {_title(name)} raises {row['said']}: {row['file_here']} takes part in "
                "that import; rename it, or work in another folder."
            )
        elif row["outcome"] == "raised":
            sentences.append(
                f"Importing {_title(name)} raises {row['said']}: reinstall it, or install what it "
                "lacks."
            )
        elif "SyclDeviceCreationError" in row.get("failed", ""):
            sentences.append(
                f"{_title(name)} finds no SYCL device: install intel-opencl-rt, and set "
                "OCL_ICD_FILENAMES to the path of its libintelocl.so."
            )
    return sentences


RULES = [
    _failures, _headers, _python, _versions, _numpy_limits, _gpus, _exclusive, _openmp, _retired,
]  # fmt: skip


def give(report: Report) -> list[str]:
    """Returns the advice for a report, the most urgent first."""
    return [sentence for rule in RULES for sentence in rule(report)]
