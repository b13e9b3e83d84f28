# SPDX-License-Identifier: BSD-3-Clause
"""`python3 noxfile.py gpu` as it starts on a lent machine: without a network, nox and dlpack.

The session gpu_offline runs this file in a virtual environment that has the tools of a build.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "tests" / "gpu"))

import run  # noqa: E402

SOME = ("functions_of_the_driver", "one_free", "order_by_events", "control_without_order")
CLOSED = "http://127.0.0.1:9"  # nothing listens there


def isolates() -> bool:
    """Whether this user may create a namespace without a network."""
    command = ["unshare", "-rn", "true"]
    return bool(shutil.which("unshare")) and subprocess.run(command).returncode == 0


def offline(folder: Path, *command: str) -> subprocess.Popen[str]:
    """Starts a command without a network, a home folder and the variables of this process."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    variables = {"PATH": "/usr/bin:/bin", "HOME": str(home), "PIP_NO_INDEX": "1", "UV_OFFLINE": "1"}
    drivers = folder / "checkout" / ".nox" / "gpu" / "simulated" / "simulated-drivers"
    variables["LD_LIBRARY_PATH"] = str(drivers)  # in place of the driver of the machine
    variables.update(dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), CLOSED))
    return subprocess.Popen(
        [*(["unshare", "-rn"] if isolates() else []), *command],
        cwd=folder / "checkout",
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def start(folder: Path, *arguments: str, python: str = sys.executable) -> tuple[int, str]:
    """Runs the command gpu for some checks. Returns the exit status and the output."""
    command = (python, "noxfile.py", "gpu", "--", *arguments, "--only", *SOME)
    process = offline(folder, *command)
    output, _ = process.communicate(timeout=run.TOTAL)
    return process.returncode, output


def bare_environment(folder: Path) -> str:
    """A virtual environment without packages. Returns its Python."""
    command = [sys.executable, "-m", "venv", "--without-pip", str(folder / "bare")]
    subprocess.run(command, check=True)
    return str(folder / "bare" / "bin" / "python")


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a copy of the checkout, which has no state of other sessions."""
    folder = tmp_path_factory.mktemp("machine")
    left_out = shutil.ignore_patterns(".nox", "build", ".git", "__pycache__", ".*_cache")
    shutil.copytree(CHECKOUT, folder / "checkout", symlinks=True, ignore=left_out)
    yield folder


def test_the_environment_is_the_one_of_such_a_machine() -> None:
    assert sys.prefix != sys.base_prefix  # a virtual environment
    for name in ("nox", "tvm_ffi", "dlbridge"):
        assert subprocess.run([sys.executable, "-c", f"import {name}"]).returncode != 0


def test_it_builds_the_module_and_runs_the_proof(machine: Path) -> None:
    status, output = start(machine, "--simulated", "--json", "lines")
    assert status == 0, output
    lines = (machine / "checkout" / "lines").read_text().splitlines()
    results = {each["name"]: each for each in map(json.loads, lines)}
    assert [each["outcome"] for each in results.values()] == ["passed"] * len(SOME)
    found = results["functions_of_the_driver"]["figures"]
    assert found["cuda-core"]  # a library of the environment
    assert found["Python"] == sys.version.split()[0]
    assert "site-packages" not in str(list((machine / "checkout/.nox/gpu/site").glob("*")))


def test_a_second_start_takes_the_wheel_of_the_first(machine: Path) -> None:
    before = next(machine.glob("checkout/.nox/gpu/wheel/*.whl")).stat().st_mtime_ns
    status, output = start(machine, "--simulated")
    assert status == 0, output
    assert "building the wheel" not in output
    assert next(machine.glob("checkout/.nox/gpu/wheel/*.whl")).stat().st_mtime_ns == before


def test_a_given_wheel_needs_no_tools(machine: Path, tmp_path: Path) -> None:
    """The interpreter has no package of a build, but NumPy, which the checks use."""
    python = bare_environment(tmp_path)
    command = [sys.executable, "-c", "import numpy; print(numpy.__path__[0])"]
    numpy = Path(subprocess.check_output(command, text=True).strip())
    (site,) = tmp_path.glob("bare/lib/python*/site-packages")
    for folder in numpy.parent.glob("numpy*"):
        (site / folder.name).symlink_to(folder)
    built = next(machine.glob("checkout/.nox/gpu/wheel/*.whl"))
    wheel = Path(shutil.copy(built, tmp_path))
    shutil.rmtree(machine / "checkout" / ".nox" / "gpu" / "wheel")
    status, output = start(machine, "--wheel", str(wheel), python=python)
    assert status == 0, output
    assert f"{wheel.name} is in" in output
    status, output = start(machine, "--wheel", str(tmp_path / "none.whl"))
    assert status == 1
    assert "no wheel of dlbridge for Python" in output


def test_without_tools_it_states_what_is_missing(machine: Path, tmp_path: Path) -> None:
    shutil.rmtree(machine / "checkout" / ".nox", ignore_errors=True)
    status, output = start(machine, python=bare_environment(tmp_path))
    assert status == 1
    assert "lacks scikit_build_core" in output


HEADER = "#define DLPACK_MAJOR_VERSION {}\n#define DLPACK_MINOR_VERSION {}\n"


def test_the_newest_header_is_taken(tmp_path: Path) -> None:
    """Of equal ones the one in a folder of its own; none before 1.0, and none that is missing."""
    contents = {
        "old/dlpack/dlpack.h": "#define DLPACK_VERSION 80\n",
        "a/dlpack/dlpack.h": HEADER.format(1, 1),
        "torch/ATen/dlpack.h": HEADER.format(1, 3),
        "b/dlpack/dlpack.h": HEADER.format(1, 3),
        "zzz/_include/dlpack.h": HEADER.format(1, 2),
    }
    for name, content in contents.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    headers = [tmp_path / name for name in contents]
    assert run.newest([*headers, tmp_path / "none.h"]) == tmp_path / "b/dlpack/dlpack.h"
    assert run.newest(headers[:1]) is None


def test_wheels_of_other_interpreters_do_not_fit() -> None:
    abi = f"cp{sys.version_info.major}{sys.version_info.minor}"
    machine = os.uname().machine
    assert run.fits(Path(f"dlbridge-0.1.0-{abi}-{abi}-manylinux_2_17_{machine}.whl"))
    for name in (
        f"dlbridge-0.1.0-cp38-cp38-linux_{machine}.whl",
        f"dlbridge-0.1.0-{abi}-{abi}t-linux_{machine}.whl",
        f"dlbridge-0.1.0-{abi}-{abi}-linux_other.whl",
        f"other-0.1.0-{abi}-{abi}-linux_{machine}.whl",
    ):
        assert not run.fits(Path(name))
