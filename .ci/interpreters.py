"""Runs the Python tests, and exits of the interpreter, with other CPythons.

    python3 noxfile.py interpreters -- [--exits N] [PATH ...]

A PATH is an interpreter, or a source tree of CPython, which is built here without the GIL if its
version supports that. Without a PATH all CPythons from 3.9 on are used that PATH or pyenv has.
The results are added to .nox/interpreters.json.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import machine

STATE = machine.STATE / "interpreters"
RESULTS = machine.STATE / "interpreters.json"  # the last result of each interpreter
MODULES = ("foreign_module", "extension", "nanobind_extension", "signatures_pybind11",
           "signatures_nanobind", "moved_pybind11", "moved_nanobind")  # fmt: skip
LEFT_OUT = ("tools", "peers", "test_extension_stubs.py", "test_two_versions.py")
TESTS = ("tests/python", *(f"--ignore=tests/python/{each}" for each in LEFT_OUT))
# Those of pyproject.toml but apache-tvm-ffi, which does not support every interpreter.
BUILD_REQUIREMENTS = ("scikit-build-core", "pybind11>=3.0", "nanobind>=2.11", "cmake", "ninja")
FACTS = """
import json, platform, sys, sysconfig
print(json.dumps([platform.python_version(), bool(sysconfig.get_config_var("Py_GIL_DISABLED"))]))
"""
# Importing a module that does not declare support for free threading turns the GIL on.
GIL = """
import sys, dlbridge, extension, nanobind_extension
print("on" if getattr(sys, "_is_gil_enabled", lambda: True)() else "off")
"""


def found() -> list[Path]:
    """The CPythons from 3.9 on that PATH and pyenv have, the newest patch release of each."""
    by_version: dict[str, Path] = {}
    names = [f"python3.{minor}{suffix}" for minor in range(9, 20) for suffix in ("", "t")]
    programs = [shutil.which(name) for name in names]
    roots = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    paths = [Path(each) for each in programs if each] + sorted(roots.glob("3.*/bin/python3"))
    for path in paths:
        if facts := facts_of(path):
            version, free_threaded = facts
            minor = tuple(map(int, version.split(".")[:2]))
            if minor >= (3, 9):
                by_version[f"{minor}{free_threaded}"] = path
    return list(by_version.values())


def facts_of(python: Path) -> tuple[str, bool] | None:
    """The version of an interpreter, and whether it is free-threaded; None if it does not run."""
    done = subprocess.run([str(python), "-c", FACTS], capture_output=True, text=True)
    if done.returncode != 0:
        return None
    version, free_threaded = json.loads(done.stdout)
    return str(version), bool(free_threaded)


def build_interpreter(source: Path) -> Path:
    """Builds a source tree of CPython, without the GIL from 3.13 on. Returns the interpreter."""
    text = (source / "Include" / "patchlevel.h").read_text()
    major, minor = (re.search(rf"PY_{part}_VERSION\s+(\d+)", text).group(1)  # type: ignore[union-attr]
                    for part in ("MAJOR", "MINOR"))  # fmt: skip
    free_threaded = (int(major), int(minor)) >= (3, 13)
    prefix = STATE / f"cpython-{major}.{minor}{'t' if free_threaded else ''}"
    if not (python := prefix / "bin" / "python3").exists():
        machine.say(f"building CPython {major}.{minor} from its source tree")
        build = STATE / f"{prefix.name}-build"
        build.mkdir(parents=True, exist_ok=True)
        options = ["--disable-gil"] if free_threaded else []
        jobs = f"-j{machine.processors()}"
        for command in ([str(source.resolve() / "configure"), f"--prefix={prefix}", *options],
                        ["make", "-s", jobs], ["make", "-s", "install"]):  # fmt: skip
            with (STATE / f"{prefix.name}.log").open("a") as log:
                subprocess.run(command, cwd=build, check=True, stdout=log, stderr=log)
    return python


def environment_of(python: Path, name: str) -> Path:
    """A virtual environment with the package, NumPy and pytest. Returns its interpreter."""
    folder = STATE / name
    own = folder / "bin" / "python"
    if not own.exists():
        subprocess.run([str(python), "-m", "venv", str(folder)], check=True)
    pip = [str(own), "-m", "pip", "install", "-q"]
    subprocess.run([*pip, "pytest", "pytest-xdist", *BUILD_REQUIREMENTS], check=True)
    for package in ("numpy", "ml_dtypes"):
        if subprocess.run([*pip, "--only-binary=:all:", package]).returncode != 0:
            machine.say(f"{name}: no {package} for this interpreter; its tests are not run")
    tools = machine.build_tools()
    dlpack = subprocess.check_output(
        [str(tools / "tvm-ffi-config"), "--dlpack-includedir"], text=True
    ).strip()
    subprocess.run(
        [*pip, "--force-reinstall", "--no-deps", "--no-build-isolation", str(machine.CHECKOUT)],
        check=True,
        env={**os.environ, "CMAKE_ARGS": shlex.quote(f"-DDLPACK_INCLUDE_DIR={dlpack}")},
    )
    return own


def modules_of(python: Path, name: str) -> Path:
    """Builds the modules of the tests for an interpreter. Returns their folder."""
    folder = machine.STATE / "build" / f"interpreter-{name}"
    machine.add_packages("libgtest-dev", "googletest")
    tools = machine.build_tools()
    compiler = machine.find_gcc()
    dlpack = subprocess.check_output(
        [str(python), "-m", "dlbridge", "--include-dir"], text=True
    ).strip()
    environment = {**os.environ, "CC": compiler.c, "CXX": compiler.cxx,
                   "PATH": os.pathsep.join([str(tools), os.environ["PATH"]])}  # fmt: skip
    defines = {
        "CMAKE_BUILD_TYPE": "Debug",
        "CMAKE_CXX_FLAGS_DEBUG": "-DNDEBUG",  # assertions of pybind11 fail without memory
        "CMAKE_CXX_STANDARD": "17",
        "CMAKE_PREFIX_PATH": str(machine.UNPACKED / "usr"),
        "DLBRIDGE_TESTS": "ON",
        "DLBRIDGE_PYTHON": "ON",
        "DLBRIDGE_TEST_DEVICES": "OFF",
        "DLPACK_INCLUDE_DIR": dlpack,
        "Python_EXECUTABLE": str(python),
    }
    subprocess.run(
        ["cmake", "-S", str(machine.CHECKOUT), "-B", str(folder), "-G", "Ninja",
         "--log-level=WARNING", *(f"-D{key}={value}" for key, value in defines.items())],
        check=True, env=environment,
    )  # fmt: skip
    subprocess.run(
        ["cmake", "--build", str(folder), "--target", *MODULES], check=True, env=environment
    )
    return folder / "python-modules"


def examine(python: Path, exits: int) -> dict[str, object]:
    """Runs the tests and the exits with one interpreter."""
    facts = facts_of(python)
    if facts is None:
        return {"interpreter": str(python), "result": "does not run"}
    version, free_threaded = facts
    name = version + ("t" if free_threaded else "")
    machine.say(f"CPython {name}")
    own = environment_of(python, name)
    modules = str(modules_of(own, name))
    environment = {**os.environ, "DLBRIDGE_TEST_MODULES": modules,
                   "PYTHONPATH": os.pathsep.join([modules, "tests/python"])}  # fmt: skip
    environment.pop("PYTHONHOME", None)
    has_numpy = subprocess.run([str(own), "-c", "import numpy"], stderr=subprocess.DEVNULL)
    peers = ["--peers=numpy"] if has_numpy.returncode == 0 else []
    tests = subprocess.run(
        [str(own), "-m", "pytest", "-q", f"-n{machine.processors()}", "--dist=loadfile", *peers,
         *TESTS], cwd=machine.CHECKOUT, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    print(tests.stdout[-3000:], tests.stderr[-2000:], flush=True)
    storm = subprocess.run(
        [str(own), "tests/python/exits.py", "storm", str(exits)],
        cwd=machine.CHECKOUT,
        env=environment,
        capture_output=True,
        text=True,
    )
    print(storm.stdout[-3000:], storm.stderr[-2000:], flush=True)
    lines = tests.stdout.strip().splitlines() or [f"status {tests.returncode}"]
    gil = subprocess.check_output([str(own), "-c", GIL], env=environment, text=True).strip()
    return {
        "interpreter": name,
        "date": time.strftime("%Y-%m-%d"),
        "GIL": gil,
        "tests": lines[-1].strip("= "),
        "exits": (storm.stdout.strip().splitlines() or ["none"])[-1],
        "passed": tests.returncode == 0
        and "was not built" not in tests.stdout  # the reason of a test that lacks a module
        and storm.returncode == 0
        and gil == ("off" if free_threaded else "on"),
    }


def record(result: dict[str, object]) -> None:
    """Replaces the stored result of an interpreter."""
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    others = [each for each in stored if each["interpreter"] != result["interpreter"]]
    RESULTS.write_text(json.dumps([*others, result], indent=1))


def main() -> int:
    parser = argparse.ArgumentParser(prog="interpreters", description=__doc__)
    parser.add_argument("--exits", type=int, default=200, help="for each interpreter")
    parser.add_argument("paths", nargs="*", type=Path)
    chosen = parser.parse_args()
    STATE.mkdir(parents=True, exist_ok=True)
    results = []
    for path in chosen.paths or found():
        try:
            python = build_interpreter(path) if path.is_dir() else path
            results.append(examine(python, chosen.exits))
        except subprocess.CalledProcessError as failure:
            print(f"{path}: {failure}")
            results.append({"interpreter": str(path), "result": "could not be prepared"})
            continue
        record(results[-1])
    print(f"left out with all of them: {', '.join(LEFT_OUT)}")
    for result in results:
        print(*(f"{key}: {value}" for key, value in result.items()), sep=" · ")
    if not results:
        print("no CPython was found")
    return 0 if results and all(result.get("passed") for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
