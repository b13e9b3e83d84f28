"""What a doctor should notice: facts of one machine in, sentences out."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from dlbridge.tools.libraries import LIBRARIES
from dlbridge.tools.versions import contains, meets

Found = dict[str, Any]

# Libraries that crash or hang when one process imports both.
APART = [("torch", "tensorflow", "their shared objects have clashed for years")]

# What a library cannot live with: it, its versions, the other, versions of that, and why.
MISFITS = [
    ("mxnet", "1.0 to 1.9.1", "numpy", "1.24 to 9", "it uses numpy.bool: install 'numpy<1.24'"),
    ("dlbridge", "0 to 9", "numpy", "1.0 to 1.21.99", "NumPy has DLPack since 1.22"),
]

# What is there, and speaks an older protocol than it could.
OUTGROWN = [
    ("numpy", "1.22 to 2.0.99", "NumPy speaks legacy DLPack only before 2.1"),
]

NO_MORE_RELEASES = {
    "mxnet": "MXNet was retired in 2023: 1.9.1 is its last release",
    "intel_extension_for_pytorch": "Intel's extension for PyTorch has ended with 2.8: PyTorch has "
    "'xpu' devices of its own",
}

GPU_BUILDS = {"CUDA": "cuda", "ROCm": "rocm"}


def _title(name: str) -> str:
    return LIBRARIES[name].title if name in LIBRARIES else name


def _apart(found: Found) -> list[str]:
    return [
        f"{_title(one)} and {_title(other)} are both here: import them in processes of their own, "
        f"as {why}."
        for one, other, why in APART
        if one in found["libraries"] and other in found["libraries"]
    ]


def _misfits(found: Found) -> list[str]:
    versions = {name: row["version"] for name, row in found["libraries"].items()}
    versions["dlbridge"] = found["dlbridge"]["version"]
    said = []
    for one, its, other, others, why in MISFITS:
        if _is(versions.get(one), its) and _is(versions.get(other), others):
            said.append(
                f"{_title(one)} {versions[one]} does not fit {_title(other)} {versions[other]}: "
                f"{why}."
            )
    for name, seen_in, why in OUTGROWN:
        if _is(versions.get(name), seen_in):
            said.append(f"{why}; here is {versions[name]}.")
    return said


def _numpy_limits(found: Found) -> list[str]:
    numpy = found["libraries"].get("numpy", {}).get("version", "unknown")
    return [
        f"{_title(name)} {row['version']} asks for NumPy {row['needs_numpy']}; here is {numpy}."
        for name, row in found["libraries"].items()
        if not meets(numpy, row.get("needs_numpy") or "")
    ]


def _is(version: str | None, seen_in: str) -> bool:
    return version is not None and contains(seen_in, version)


def _ended(found: Found) -> list[str]:
    here = {*found["libraries"], *found["also_installed"]}
    return [f"{said}." for name, said in NO_MORE_RELEASES.items() if name in here]


def _openmp(found: Found) -> list[str]:
    said = []
    for one, other in combinations(found["libraries"], 2):
        here, there = (set(found["libraries"][name].get("openmp") or ()) for name in (one, other))
        if here and there and not here & there:
            said.append(
                f"{_title(one)} brings {_and(here)} OpenMP and {_title(other)} {_and(there)}: in "
                "one process they compete for the cores and can hang; OMP_NUM_THREADS=1 helps."
            )
    for name, row in found["libraries"].items():
        if len(row.get("openmp") or ()) > 1:
            said.append(f"{_title(name)} alone loads {_and(set(row['openmp']))} OpenMP.")
    return said


def _and(names: set[str]) -> str:
    return " and ".join(f"{name}'s" for name in sorted(names))


def _gpus(found: Found) -> list[str]:
    said = []
    for name, row in found["libraries"].items():
        built_for = row.get("built_for")
        driver = GPU_BUILDS.get((built_for or "").partition(" ")[0])
        if driver and not found["drivers"][driver].get("devices"):
            said.append(f"{_title(name)} is built for {built_for}, and no such device is here.")
    return said


def _headers(found: Found) -> list[str]:
    return [
        f"{row['include']} has dlpack.h {row['version']}, older than dlbridge compiles with: put "
        f"{found['dlbridge']['include']} before it, or remove it."
        for row in found["headers"]
        if row["too_old"]
    ]


def _python(found: Found) -> list[str]:
    said = []
    if found["python"]["free_threaded"] and not found["python"]["gil"]:
        said.append("This Python runs without the GIL, which nobody has tried with dlbridge yet.")
    if not any(name in found["compilers"] for name in ("c++", "g++", "clang++")):
        said.append("No C++ compiler is on the path: extensions cannot be built here.")
    return said


def _broken(found: Found) -> list[str]:
    said = []
    for name, row in found["libraries"].items():
        if row["outcome"] == "crashed":
            said.append(f"Importing {_title(name)} ends the process ({row['said']}): reinstall it.")
        elif row["outcome"] == "hung":
            said.append(f"Importing {_title(name)} does not end: {row['said']}.")
        elif "SyclDeviceCreationError" in row.get("failed", ""):
            said.append(
                f"{_title(name)} finds no SYCL device: install intel-opencl-rt, and let "
                "OCL_ICD_FILENAMES name its libintelocl.so."
            )
    return said


RULES = [_broken, _headers, _python, _misfits, _numpy_limits, _gpus, _apart, _openmp, _ended]


def give(found: Found) -> list[str]:
    """The advice for what the doctor has found, the most pressing first."""
    return [sentence for rule in RULES for sentence in rule(found)]
