# SPDX-License-Identifier: BSD-3-Clause
"""doctor: its report of this machine, as text and as JSON."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

import dlbridge
from dlbridge.tools import children, core, doctor, known, sections
from dlbridge.tools.doctor import advice, dlpack_support, environment
from dlbridge.tools.libraries import LIBRARIES, Library

Report = dict[str, Any]
DRIVERS = {
    "cuda": {"library": "libcuda.so.1", "version": 13000, "devices": ["First", "Second"]},
    "rocm": {"why": "there is none"},
}


def run(*arguments: str) -> str:
    command = [sys.executable, "-m", "dlbridge", "doctor", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def options_of(**options: Any) -> argparse.Namespace:
    return argparse.Namespace(
        **{"json": False, "fast": True, "defect": None, "report": False, **options}
    )


@pytest.fixture
def two_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "drivers", lambda: DRIVERS)


Pretend = Callable[[str, str], None]


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Pretend:
    """Creates a library of a few lines, as the only one that is installed."""
    monkeypatch.syspath_prepend(str(tmp_path))
    paths = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("PYTHONPATH", paths)  # of child processes
    libraries: dict[str, Library] = {}
    monkeypatch.setattr(doctor, "LIBRARIES", libraries)

    def write(name: str, program: str) -> None:
        (tmp_path / f"{name}.py").write_text(program)
        libraries[name] = LIBRARIES[name]

    return write


def test_for_programs() -> None:
    report: Report = json.loads(run("--json"))
    assert report["dlbridge"]["version"] == dlbridge.__version__
    assert report["python"]["version"] == platform.python_version()
    include = Path(report["dlbridge"]["include"])
    assert (include / "dlbridge" / "dlbridge.hpp").exists()
    ours = report["headers"][0]
    assert (Path(ours["include"]), ours["too_old"]) == (include, False)
    assert ours["version"].startswith("1.")
    numpy = report["libraries"]["numpy"]
    assert (numpy["outcome"], numpy["protocol"]) == ("returned", True)
    is_new = tuple(map(int, numpy["version"].split(".")[:2])) >= (2, 1)
    assert numpy["versioned"] == ("1.0" if is_new else None)
    assert [each["id"] for each in numpy["defects"]] == [
        each.id for each in known.of("numpy", numpy["version"])
    ]
    assert set(report["drivers"]) == {"cuda", "rocm"}
    for driver in report["drivers"].values():
        assert set(driver) in ({"why"}, {"library", "version", "devices"})


def test_what_a_library_requires_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    requirements = ["scipy>=1.14", "numpy>=3; python_version > '3.99'", "numpy (<2.2,>=1.26)"]
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: requirements)
    assert doctor._needs_numpy(LIBRARIES["jax"]) == "<2.2,>=1.26"


def test_fast_imports_nothing() -> None:
    report: Report = json.loads(run("--fast", "--json"))
    assert report["libraries"]["numpy"]["outcome"] == "not imported"
    assert report["libraries"]["numpy"]["version"].count(".") == 2


def test_for_people(two_devices: None, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert doctor.run(options_of()) == 0
    output = capsys.readouterr().out
    assert "libcuda.so.1, version 13000; 0: First, 1: Second" in output
    assert "there is none" in output
    assert "\n  NumPy " in output
    assert "\033" not in output
    paths = (str(dlbridge.get_include()), sys.prefix)
    assert all(
        len(line) <= 80 or any(path in line for path in paths) for line in output.splitlines()
    )


def test_no_line_is_wider_than_100_columns(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    path = "/" + "a" * 40 + "/" + "b" * 50
    rows = [("1.3", "a library", path), ("1.2", "another library", f"{'word ' * 40}{path}")]
    sections.show([("dlpack.h", rows)])
    output = capsys.readouterr().out
    assert max(map(len, output.splitlines())) <= 100
    assert output.count(path) == 2  # in one piece, so that it can be copied
    assert output.split() == f"dlpack.h 1.3 a library {path} ".split() + (
        f"1.2 another library {'word ' * 40}{path}".split()
    )


@pytest.mark.parametrize(
    "version, listed",
    [
        ("2.12.0", "not tried"),
        ("2.13.0+cpu", "defect"),
        ("2.14.0.dev20260801", "not tried"),
        ("2.14.0", "no"),
        ("2.14.1", "no"),
        ("", "not tried"),  # no package states a version
    ],
)
def test_the_defects_are_those_of_the_installed_version(
    version: str, listed: str, pretend: Pretend, two_devices: None,
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any,
) -> None:  # fmt: skip
    if version:
        information = tmp_path / "torch-9.dist-info"
        information.mkdir()
        (information / "METADATA").write_text(f"Name: torch\nVersion: {version}\n")
    else:
        monkeypatch.setattr(Library, "version", None)
    pretend("torch", "x = 1")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setenv("COLUMNS", "200")
    report = doctor.examine(fast=True)
    row = report["libraries"]["torch"]
    found = {each["id"]: each for each in row["defects"]}
    assert ("torch-negative-strides" in found) == (listed == "defect")
    untried = {each["id"] for each in row["untried"]}
    assert ("torch-negative-strides" in untried) == (listed == "not tried")
    assert ("torch-copy-not-marked" in found) == version.startswith("2.13")
    sections.show(doctor.sections_of(report))
    output = " ".join(capsys.readouterr().out.split())
    text = "Since 2.12.1, fixed in 2.14.0: upgrade to 2.14.0. Reported: https://github.com/pytorch/"
    assert (text in output) == (listed == "defect")
    text = "not marked IS_COPIED. Since 2.13.0, not known to be fixed as of 2.13.0."
    assert (text in output) == (listed == "defect")
    if listed == "not tried":
        assert f"Not tried with PyTorch {version or 'unknown'}, and seen in other ve" in output
        assert "torch-negative-strides 2.12.1 to 2.13.0; fixed in 2.14.0" in output
    if found:
        row_of = found["torch-negative-strides"]
        assert (row_of["since"], row_of["fixed_in"]) == ("2.12.1", "2.14.0")
        assert row_of["upstream"] == "https://github.com/pytorch/pytorch/issues/188023"


def test_a_machine_without_libraries(
    two_devices: None, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(doctor, "LIBRARIES", {})
    assert doctor.run(options_of(fast=False)) == 0
    output = capsys.readouterr().out
    assert "none of those supported" in output
    assert "Known defects" not in output


def test_libraries_that_crash_raise_or_print_cost_their_own_line(
    pretend: Pretend, two_devices: None, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    pretend("mxnet", "import os; os.abort()")
    pretend("tensorflow", "raise ImportError('libmissing.so')")
    pretend("pyarrow", "print('hello'); __version__ = '7.7'")
    assert doctor.run(options_of(fast=False)) == 0
    output = capsys.readouterr().out
    assert "crashed: SIGABRT" in output
    assert "raised: ImportError: libmissing.so" in output
    assert (LIBRARIES["pyarrow"].version or "7.7") in output
    assert "hello" not in output
    assert "Importing MXNet crashes the process (SIGABRT)" in output
    assert "Importing TensorFlow raises ImportError: libmissing.so: reinstall it" in output


@pytest.mark.parametrize(
    ("program", "other"),
    [
        ("import shadow", "shadow.py"),  # whose own code raises
        ("import shadow_2.part", "shadow_2.py"),  # which hides a package
        ("from shadow import x", "shadow/__init__.py"),
    ],
)
def test_a_file_of_the_current_folder_that_disturbs_an_import_is_named(
    program: str, other: str, pretend: Pretend, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pretend("tensorflow", program)
    folder = tmp_path / "here"
    file = folder / other
    file.parent.mkdir(parents=True)
    file.write_text("" if "_2" in other else "raise ValueError('mine')\n")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    report = doctor.examine()
    assert report["libraries"]["tensorflow"]["file_here"] == str(file)
    assert report["advice"][0].endswith(
        f": {file} takes part in that import; rename it, or work in another folder."
    )


def test_a_file_that_hides_a_library_is_named(
    pretend: Pretend, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The file is in front of the installed library, as one in the current folder is."""
    installed = tmp_path / "installed"
    for name, file in (("mxnet", "mxnet/__init__.py"), ("warp_lang", "warp_editable.pth")):
        information = installed / f"{name}-9.9.dist-info"
        information.mkdir(parents=True)
        (information / "METADATA").write_text(f"Name: {name}\nVersion: 9.9\n")
        (information / "RECORD").write_text(f"{file},,\n")
        (installed / file).parent.mkdir(exist_ok=True)
        (installed / file).touch()  # newer CPythons omit files that do not exist
    monkeypatch.syspath_prepend(str(installed))
    pretend("mxnet", "x = 1")
    pretend("warp", "x = 1")  # an editable installation records no module
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    report = doctor.examine(fast=True)
    hiding = str(tmp_path / "mxnet.py")
    assert [row["hidden_by"] for row in report["libraries"].values()] == [hiding, None]
    assert report["advice"][0] == f"{hiding} hides MXNet: rename it."
    monkeypatch.setattr(sys, "path", [str(installed), *sys.path])
    assert doctor.examine(fast=True)["libraries"]["mxnet"]["hidden_by"] is None


def test_a_hidden_library_is_the_cause_of_other_failures() -> None:
    raised = {"outcome": "raised", "said": "AttributeError: no attribute 'Tensor'"}
    assert advice.give(machine(torch={"hidden_by": "/here/torch.py"}, tvm_ffi=raised)) == [
        "/here/torch.py hides PyTorch: rename it."
    ]


def test_a_version_is_one_short_line(
    pretend: Pretend, two_devices: None, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    pretend("mxnet", "__version__ = '1.0\\nAdvice\\x1b[2J' + 'x' * 200")
    pretend("paddle", "class V:\n  def __str__(self): raise OSError\n__version__ = V()")
    assert doctor.run(options_of(fast=False)) == 0
    lines = capsys.readouterr().out.splitlines()
    (mxnet,) = (line for line in lines if line.strip().startswith("MXNet"))
    assert "  1.0 Advice\\x1b[2Jxxx" in mxnet and "xxx..." in mxnet
    (paddle,) = (line for line in lines if line.strip().startswith("Paddle"))
    assert "unknown" in paddle


def test_an_exception_without_text_is_named(
    pretend: Pretend, two_devices: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend("mxnet", "raise KeyboardInterrupt")
    report = doctor.examine()
    assert report["libraries"]["mxnet"]["said"] == "KeyboardInterrupt"
    assert (
        "Importing MXNet raises KeyboardInterrupt: reinstall it, or install what it lacks."
        in report["advice"]
    )


def test_a_library_that_hangs_is_reported(
    pretend: Pretend, two_devices: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "SECONDS_PER_LIBRARY", 1.0)
    pretend("warp", "import time; time.sleep(60)")
    report = doctor.examine()
    assert report["libraries"]["warp"]["outcome"] == "hung"
    assert "Importing Warp does not finish: no answer within 1 s." in report["advice"]


def test_a_driver_that_crashes_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = children.Answer("crashed", message="SIGSEGV")
    monkeypatch.setattr(children, "call", lambda *arguments, **keywords: answer)
    assert environment.drivers()["cuda"] == {"why": "the driver query crashed: SIGSEGV"}


def test_a_program_that_hangs_or_fails_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "g++").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "nvcc").write_text("no program\n")
    for each in tmp_path.iterdir():
        each.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(environment, "SECONDS_PER_PROGRAM", 0.1)
    report = environment.compilers()
    assert "timed out" in report["g++"]
    assert str(tmp_path / "nvcc") in report["nvcc"]
    assert "hipcc" not in report or report["hipcc"]


HEADERS = {
    "1.3": "#define DLPACK_MAJOR_VERSION 1\n#define DLPACK_MINOR_VERSION 3\n",
    "0.6": "#define DLPACK_VERSION 60\n",
    "0.2": "#define DLPACK_VERSION 020\n",
    "unknown": "",
}


@pytest.mark.parametrize("version", HEADERS)
@pytest.mark.parametrize("leads", ["CPATH", "CMAKE_PREFIX_PATH", "dlpack_DIR"])
def test_headers(version: str, leads: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    include = tmp_path / "include"
    (include / "dlpack").mkdir(parents=True)
    (include / "dlpack" / "dlpack.h").write_text(HEADERS[version])
    ways = {"CPATH": include, "dlpack_DIR": tmp_path / "lib" / "cmake" / "dlpack"}
    monkeypatch.setenv(leads, str(ways.get(leads, tmp_path)))
    (row,) = [row for row in environment.headers() if row["include"] == str(include)]
    assert row["version"] == version
    assert row["too_old"] == (version != "1.3")
    assert row["found_by"] == ["the compiler" if leads == "CPATH" else leads]


def test_what_numpy_supports() -> None:
    report = dlpack_support.examine("numpy")
    assert report["legacy"] and report["protocol"]
    assert report["exchange_table"] is None
    assert "failed" not in report


class _ArrayImpl:
    """JAX's array as its type is named, on NumPy's memory."""

    def __init__(self, array: Any) -> None:
        self.array, self.frozen = array, array[...]
        self.frozen.flags.writeable = False

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        if "max_version" in keywords:
            return self.frozen.__dlpack__(**keywords)
        return self.array.__dlpack__(**keywords)  # a legacy capsule, which has no mark


def test_arrays_that_never_change(monkeypatch: pytest.MonkeyPatch) -> None:
    numpy = LIBRARIES["numpy"]
    monkeypatch.setattr(_ArrayImpl, "__module__", "jaxlib._jax")
    frozen = dataclasses.replace(numpy, give=lambda m, x: _ArrayImpl(x))
    monkeypatch.setitem(LIBRARIES, "numpy", frozen)
    result = dlpack_support.examine("numpy")
    assert result["immutable"] == "read-only"
    shown = doctor._library_row("numpy", {**result, "outcome": "returned", "defects": []})
    assert shown[-1].endswith(", immutable arrays, which dlbridge treats as read-only")
    monkeypatch.setitem(LIBRARIES, "numpy", numpy)
    assert dlpack_support.examine("numpy")["immutable"] is None


@pytest.mark.parametrize("is_kept", [True, False])
def test_read_only_arrays_that_are_exported_as_writable(
    monkeypatch: pytest.MonkeyPatch, is_kept: bool
) -> None:
    class Array(_ArrayImpl):
        readonly = True

        def __dlpack__(self, **keywords: Any) -> Any:
            return (self.frozen if is_kept else self.array).__dlpack__(**keywords)

    numpy = LIBRARIES["numpy"]
    row = dataclasses.replace(numpy, read_only=lambda m, x: Array(x))
    monkeypatch.setitem(LIBRARIES, "numpy", row)
    result = dlpack_support.examine("numpy")
    assert result["read_only_is_marked"] is is_kept
    shown = doctor._library_row("numpy", {**result, "outcome": "returned", "defects": []})
    assert shown[-1].endswith(", exports read-only arrays as writable") != is_kept


WORDS = "the last cell is wrapped to whole words, a/path/that/can/be/copied/as/it/is"


@pytest.mark.parametrize("width", [36, 60, 200])
def test_rows_are_wrapped(width: int) -> None:
    lines = sections.lines([("one", "two", WORDS), ("longer", "", "short")], width)
    assert " ".join(" ".join(lines).split()) == f"one two {WORDS} longer short"
    assert all(len(line) <= width or "a/path" in line for line in lines)
    assert (len(lines) == 2) == (width == 200)


# Advice ----------------------------------------------------------------------------------------


def machine(**libraries: Report) -> Report:
    """Returns the report of a machine without problems, except for these libraries."""
    plain = {"version": "1.0", "outcome": "returned", "said": ""}
    return {
        "dlbridge": {"version": "0.1.0", "include": "/ours", "missing": None},
        "python": {"free_threaded": False, "gil": True},
        "headers": [{"version": "1.3", "include": "/ours", "too_old": False}],
        "compilers": {"c++": "c++ 12"},
        "drivers": DRIVERS,
        "libraries": {name: {**plain, **row} for name, row in libraries.items()},
        "also_installed": [],
    }


def test_the_tools_without_the_package_are_no_problem() -> None:
    report = machine()
    report["dlbridge"]["missing"] = core.NOT_INSTALLED
    assert advice.give(report) == []
    report["dlbridge"]["missing"] = "its compiled module cannot be loaded"
    assert advice.give(report) == ["Its compiled module cannot be loaded."]


def test_without_problems_there_is_no_advice() -> None:
    assert advice.give(machine(numpy={"version": "2.4.6"}, torch={"built_for": "CUDA 13.0"})) == []


ADVICE: dict[str, tuple[Report, str]] = {
    "apart": (machine(torch={}, tensorflow={}), "in separate processes"),
    "mxnet and numpy": (
        machine(mxnet={"version": "1.9.1"}, numpy={"version": "2.4.6"}),
        "install 'numpy<1.24'",
    ),
    "numpy without dlpack": (machine(numpy={"version": "1.21.6"}), "since 1.23"),
    "numpy of old": (machine(numpy={"version": "1.26.4"}), "since 2.1; 1.26.4 is installed"),
    "too new a numpy": (
        machine(numpy={"version": "2.4.6"}, tensorflow={"needs_numpy": "<2.2.0,>=1.26"}),
        "requires NumPy <2.2.0,>=1.26; 2.4.6 is installed",
    ),
    "mxnet's end": (machine(mxnet={}), "its last release"),
    "ipex": (
        {**machine(), "also_installed": ["intel_extension_for_pytorch"]},
        "ended with 2.8",
    ),
    "two openmp": (
        machine(torch={"openmp": ["GNU"]}, mxnet={"openmp": ["LLVM"]}),
        "PyTorch loads GNU's OpenMP and MXNet LLVM's",
    ),
    "two openmp in one": (machine(torch={"openmp": ["GNU", "Intel"]}), "PyTorch alone loads"),
    "no device": (
        machine(torch={"built_for": "ROCm 7.1"}),
        "built for ROCm 7.1, but this machine has no such",
    ),
    "old header": (
        {**machine(), "headers": [{"version": "0.6", "include": "/usr/include", "too_old": True}]},
        "/usr/include has dlpack.h 0.6",
    ),
    "no gil": ({**machine(), "python": {"free_threaded": True, "gil": False}}, "without the GIL"),
    "no compiler": ({**machine(), "compilers": {"cmake": "4"}}, "No C++ compiler"),
    "no sycl": (
        machine(dpnp={"failed": "SyclDeviceCreationError: Default device is unavailable."}),
        "install intel-opencl-rt",
    ),
}


@pytest.mark.parametrize("broken", [("torch",), ("tensorflow",), ("torch", "tensorflow")])
def test_what_cannot_be_imported_needs_no_process_of_its_own(broken: tuple[str, ...]) -> None:
    raised = {"outcome": "raised", "said": "ImportError: broken"}
    rows = {name: raised if name in broken else {} for name in ("torch", "tensorflow")}
    assert not [each for each in advice.give(machine(**rows)) if "separate processes" in each]
    fast = {"outcome": "not imported"}
    (sentence,) = advice.give(machine(torch=fast, tensorflow=fast))
    assert "in separate processes" in sentence


def test_a_failure_of_an_imported_library_is_named_as_the_cause() -> None:
    crashed = {"outcome": "crashed", "said": "SIGABRT"}
    assert advice.give(machine(torch=crashed, tvm_ffi=crashed)) == [
        "Importing PyTorch crashes the process (SIGABRT): reinstall it.",
        "Importing tvm-ffi crashes the process, as importing PyTorch does, which it imports: "
        "repair PyTorch first.",
    ]
    assert "Importing tvm-ffi crashes the process (SIGABRT): reinstall it." in advice.give(
        machine(torch={**crashed, "said": "SIGSEGV"}, tvm_ffi=crashed)
    )
    raised = {"outcome": "raised", "said": "ImportError: broken", "needs_numpy": ">=2"}
    numpy = {**raised, "needs_numpy": None, "version": "2.4.6"}
    sentences = advice.give(machine(numpy=numpy, jax={**raised, "version": "0.10.2"}))
    assert (
        "Importing JAX raises an exception, as importing NumPy does, which it imports: repair "
        "NumPy first." in sentences
    )


@pytest.mark.parametrize("case", ADVICE)
def test_advice(case: str) -> None:
    machine_report, expected = ADVICE[case]
    assert [each for each in advice.give(machine_report) if expected in each]
