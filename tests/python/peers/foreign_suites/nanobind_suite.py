# SPDX-License-Identifier: BSD-3-Clause
"""Runs nanobind's own test_ndarray.py on functions that have dlbridge's parameters.

`python nanobind_suite.py MODULES FOLDER` downloads the sources of nanobind, and runs the file
unchanged with the module test_ndarray_ext of MODULES (tests/extension/nanobind_suite.cpp). The run
fails if a test fails that DIFFERENCES does not list, or at another line than it states; if a listed
test passes; and if a test is skipped that SKIPPED does not list.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import xml.etree.ElementTree
from dataclasses import dataclass
from pathlib import Path

VERSION = "3.1.0"
FILES = ("test_ndarray.py", "common.py", "conftest.py")


@dataclass(frozen=True)
class Difference:
    """A test that fails, the line of it that fails, and why dlbridge differs."""

    test: str
    line: str
    cause: str


DIFFERENCES = (
    Difference(
        "test02_docstr",
        'assert t.pass_uint32.__doc__ == "pass_uint32(array: ndarray[dtype=uint32]) -> None"',
        "A signature of dlbridge states the requirement as typing.Annotated[SupportsDLPack, ...], "
        "which type checkers accept.",
    ),
    Difference(
        "test19c_export_ownerless_refused",
        "for fn in (t.ret_memview_noowner, t.ret_array_api_noowner,",
        "The refusal at run time has no counterpart: an owner is a parameter of build_on, and a "
        "function that returns a tensor_span, which has none, does not compile.",
    ),
    Difference(
        "test20_return_array_api",
        "assert 'does not accept positional arguments' in str(excinfo.value)",
        "The TypeError of __dlpack__(0) has another text; and a Tensor fulfils copy=True, and has "
        "a byte_offset of 0, as its data points to the first element.",
    ),
    Difference(
        "test20a_dlpack_copy_device_kwargs",
        "with pytest.raises(BufferError):",
        "A dlbridge.Tensor fulfils __dlpack__(copy=True), which an ndarray of nanobind refuses.",
    ),
    Difference(
        "test20b_import_metal_dlpack",
        "assert rec.kwargs == {}",
        "dlbridge passes max_version to every producer, as only versioned tensors state whether "
        "their memory is read-only.",
    ),
    Difference(
        "test26_return_ro",
        "assert t.ret_numpy_const_ref.__doc__  == 'ret_numpy_const_ref() -> numpy.ndarray["
        "dtype=float32, shape=(2, 4), order=\\'C\\', writable=False]'",
        "The annotation of a tensor result is typing.Any, as its library may follow from the "
        "arguments.",
    ),
    Difference(
        "test32_reference_internal",
        "with pytest.raises(RuntimeError) as excinfo:",
        "A member_view has no owner but its object, so there is no second one to refuse.",
    ),
)

# Tests for which a machine may lack the hardware or the Python, and what they need.
SKIPPED = {
    "test20c_import_torch_mps_dlpack": "a GPU of Apple",
    "test27c_python_complex_array": "Python 3.15",
    "test44_constrain_order_cupy": "a GPU of CUDA, and CuPy",
    "test45_implicit_conversion_cupy": "a GPU of CUDA, and CuPy",
}


@dataclass(frozen=True)
class Outcome:
    """What became of a test: "passed", "failed" or "skipped", and the line that failed."""

    what: str
    line: str = ""


def fetch(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / f"nanobind-{VERSION}.tar.gz"
    if not source.exists():
        command = ["-m", "pip", "download", "-q", "--no-deps", "--no-binary", "nanobind"]
        subprocess.run([sys.executable, *command, "-d", str(folder), f"nanobind=={VERSION}"],
                       check=True)  # fmt: skip
    with tarfile.open(source) as archive:
        for name in FILES:
            member = archive.extractfile(f"nanobind-{VERSION}/tests/{name}")
            assert member is not None
            (folder / name).write_bytes(member.read())


def outcome_of(case: xml.etree.ElementTree.Element) -> Outcome:
    problem = case.find("failure")
    problem = case.find("error") if problem is None else problem
    if problem is None:
        return Outcome("passed" if case.find("skipped") is None else "skipped")
    lines = (problem.text or "").splitlines()  # that of the test follows its file and number
    places = [i for i, each in enumerate(lines) if each.startswith("test_ndarray.py:")]
    return Outcome("failed", lines[places[0] + 1].strip() if places else "")


def run(modules: Path, folder: Path) -> dict[str, Outcome]:
    """The outcome of each test, by its name."""
    report = folder / "report.xml"
    report.unlink(missing_ok=True)
    subprocess.run(
        [*(sys.executable, "-m", "pytest", "-q", "--tb=short", "--show-capture=no", "-W", "ignore"),
         *("-p", "no:cacheprovider", f"--junitxml={report}", "test_ndarray.py")],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(modules)},
        stdout=subprocess.DEVNULL,
        check=False,
    )  # fmt: skip
    cases = xml.etree.ElementTree.parse(report).getroot().iter("testcase")
    return {each.attrib["name"]: outcome_of(each) for each in cases}


def complaints(found: dict[str, Outcome]) -> list[str]:
    expected = {each.test: each for each in DIFFERENCES}
    wrong = [f"{name} is listed, and was not run" for name in expected if name not in found]
    for name, outcome in found.items():
        if outcome.what == "failed" and name not in expected:
            wrong.append(f"{name} fails: {outcome.line}")
        elif outcome.what == "skipped" and name not in SKIPPED:
            wrong.append(f"{name} is skipped")
        elif name in expected and outcome.what != "failed":
            wrong.append(f"{name} is listed, and {outcome.what}")
        elif name in expected and outcome.line != expected[name].line:
            wrong.append(f"{name} fails at another line than is listed: {outcome.line}")
    return wrong


def main() -> int:
    modules, folder = (Path(each).resolve() for each in sys.argv[1:3])
    fetch(folder)
    found = run(modules, folder)
    assert found, "no test ran"
    for what in ("passed", "failed", "skipped"):
        print(f"{what}: {[each.what for each in found.values()].count(what)}")
    for each in DIFFERENCES:
        print(f"{each.test} differs. {each.cause}")
    wrong = complaints(found)
    for complaint in wrong:
        print(complaint, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
