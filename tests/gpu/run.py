# SPDX-License-Identifier: BSD-3-Clause
"""The command `python3 noxfile.py gpu`: installs this checkout into a folder, and runs the proof.

    -- --simulated     on the simulated driver, which it builds, instead of the machine's driver
    -- --wheel FILE    with this wheel of dlbridge
    -- ...             arguments for the proof; -- --help lists them

It runs in the environment of the interpreter, whose libraries the proof uses, and installs nothing
there. It needs neither a network nor nox nor pip if that environment has NumPy and, unless there is
a wheel, scikit-build-core, pybind11, CMake, ninja, and any package that contains dlpack.h. What is
missing it takes from the tools of the other sessions, which it installs by network.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import time
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / ".ci"))
import machine
import package

FOLDER = machine.STATE / "gpu"
TOTAL = 585  # seconds for everything; a GPU is often lent for ten minutes
OLDEST = (1, 0)  # version of dlpack.h
# What the environment of the interpreter must have for a build, by the names of the modules.
NEEDED = ("scikit_build_core", "pybind11")
PROGRAMS = ("cmake", "ninja")


# A wheel ---------------------------------------------------------------------------------------


def fits(wheel: Path) -> bool:
    """Whether this interpreter can import what a wheel contains, by the name of the wheel."""
    parts = wheel.stem.split("-")
    if len(parts) < 5 or parts[0] != "dlbridge":
        return False
    threads = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    abi = f"cp{sys.version_info.major}{sys.version_info.minor}{threads}"
    return parts[-2] == abi and parts[-1].endswith(platform.machine())


def find_wheel() -> Path | None:
    """A wheel of the present sources that a session, or this command, has built."""
    digest = package.sources_digest()
    for sources in sorted(machine.STATE.glob("wheels/*/sources")) + sorted(
        FOLDER.glob("wheel/sources")
    ):
        if sources.read_text() == digest:
            for wheel in sources.parent.glob("*.whl"):
                if fits(wheel):
                    return wheel
    return None


# dlpack.h --------------------------------------------------------------------------------------


def version_of(header: Path) -> tuple[int, int]:
    """The version of a dlpack.h; (0, 0) for one before 1.0."""
    found = dict(re.findall(r"#define DLPACK_(MAJOR|MINOR)_VERSION (\d+)", header.read_text()))
    return int(found.get("MAJOR", 0)), int(found.get("MINOR", 0))


def installed_headers() -> Iterator[Path]:
    """Every dlpack.h that a package of this interpreter contains, and those of the system."""
    for folder in ("/usr/local/include", "/usr/include", sysconfig.get_paths()["include"]):
        yield Path(folder, "dlpack", "dlpack.h")
    for distribution in importlib.metadata.distributions():
        for file in distribution.files or ():
            if file.name == "dlpack.h":
                yield Path(str(distribution.locate_file(file)))


def newest(headers: Iterable[Path]) -> Path | None:
    """The newest header. Of equal ones, it prefers one that is no variant of another project."""
    usable = [each for each in headers if each.is_file() and version_of(each) >= OLDEST]
    return max(
        usable,
        key=lambda each: (version_of(each), each.parent.name == "dlpack", str(each)),
        default=None,
    )


def find_dlpack() -> Path | None:
    """The value of DLPACK_INCLUDE_DIR: as it is set, or a folder with the newest header found."""
    if given := os.environ.get("DLPACK_INCLUDE_DIR"):
        return Path(given)
    header = newest(installed_headers())
    if header is None:
        return None
    machine.say(f"dlpack.h {'.'.join(map(str, version_of(header)))}: {header}")
    copied = FOLDER / "include" / "dlpack" / "dlpack.h"  # packages also use other folder names
    copied.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(header, copied)
    return FOLDER / "include"


# Building --------------------------------------------------------------------------------------


def search_path() -> str:
    """PATH with the programs of this interpreter's environment, activated or not."""
    folders = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    if spec := importlib.util.find_spec("cmake"):
        folders += [
            str(Path(each) / "data" / "bin") for each in spec.submodule_search_locations or ()
        ]
    return os.pathsep.join(folders)


def missing_tools() -> list[str]:
    """What a build in the environment of the interpreter lacks."""
    modules = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    return modules + [name for name in PROGRAMS if shutil.which(name, path=search_path()) is None]


BUILD = """\
import sys
import scikit_build_core.build as backend
settings = {"cmake.define.DLPACK_INCLUDE_DIR": sys.argv[2], "build-dir": sys.argv[3]}
backend.build_wheel(sys.argv[1], settings)
"""


def build_here(include: Path) -> Path:
    """Builds the wheel with the packages of this interpreter, by the build backend itself."""
    machine.say("building the wheel with the packages of this interpreter")
    folder = FOLDER / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    builds = FOLDER / f"build-{sys.implementation.cache_tag}"
    environment = machine.build_environment(machine.find_gcc())
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(folder), str(include), str(builds)],
        cwd=machine.CHECKOUT,
        env={**os.environ, **environment, "PATH": search_path()},
    )
    if done.returncode != 0:
        sys.exit("the wheel could not be built; -- --wheel FILE takes one that is built elsewhere")
    (wheel,) = folder.glob("*.whl")
    (folder / "sources").write_text(package.sources_digest())
    return wheel


def obtain_wheel(given: Path | None) -> Path:
    """A wheel for this interpreter: given, found, built here, or built as for other sessions."""
    if given is not None:
        if not given.is_file() or not fits(given):
            sys.exit(f"{given} is no wheel of dlbridge for Python {platform.python_version()} on "
                     f"{platform.machine()}")  # fmt: skip
        return given
    if wheel := find_wheel():
        return wheel
    missing = missing_tools()
    include = find_dlpack()
    if include and not missing:
        return build_here(include)
    lacks = ", ".join([*missing, *([] if include else ["a package with dlpack.h 1.0 or newer"])])
    machine.say(f"this interpreter lacks {lacks}; installing tools, which needs a network")
    machine.make_tools()
    return next(package.build().glob("*.whl"))


def install(wheel: Path) -> Path:
    """Unpacks a wheel into a folder of its own, which is returned for PYTHONPATH."""
    site = FOLDER / "site"
    shutil.rmtree(site, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    machine.say(f"{wheel.name} is in {site}")
    return site


def interpreter() -> str:
    """This interpreter; that of the tools if this one lacks NumPy, which the checks use."""
    if importlib.util.find_spec("numpy"):
        return sys.executable
    machine.say("this interpreter lacks NumPy; taking that of the tools, which needs a network")
    python = machine.make_tools()
    if not machine.succeeds(python, "-c", "import numpy"):
        machine.install("numpy")
    return str(python)


def build_simulated_driver() -> Path:
    """Builds the simulated drivers, and returns their folder."""
    machine.say("building the simulated drivers")
    folder, path = FOLDER / "simulated", search_path()
    cmake = shutil.which("cmake", path=path)
    if cmake is None:
        sys.exit("CMake is missing; it builds the simulated driver")
    environment = {**os.environ, **machine.build_environment(machine.find_gcc()), "PATH": path}
    source = machine.CHECKOUT / "tests" / "fakes" / "simulated_driver"
    generator = ["-G", "Ninja"] if shutil.which("ninja", path=path) else []
    for command in (
        [cmake, "-S", str(source), "-B", str(folder), *generator, "--log-level=WARNING"],
        [cmake, "--build", str(folder), "--parallel", str(machine.processors())],
    ):
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return folder / "simulated-drivers"


# The command -----------------------------------------------------------------------------------


def main(arguments: Sequence[str]) -> int:
    """Runs the proof, and returns its exit status."""
    begin = time.monotonic()
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--simulated", action="store_true")
    chosen, others = parser.parse_known_args([each for each in arguments if each != "--"])
    site = install(obtain_wheel(chosen.wheel))
    path = [str(site), str(machine.CHECKOUT / "tests" / "gpu"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}
    if chosen.simulated:
        libraries = [str(build_simulated_driver()), os.environ.get("LD_LIBRARY_PATH", "")]
        environment["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, libraries))
    left = TOTAL - (time.monotonic() - begin)
    command = [interpreter(), "-m", "proof", f"--seconds={left:.0f}", *others]
    return subprocess.call(command, env=environment, cwd=machine.CHECKOUT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
