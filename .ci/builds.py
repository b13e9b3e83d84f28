"""The configurations of the C++ build: what the sessions configure, build and test with CMake."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import machine

if TYPE_CHECKING:
    import nox

FOLDER = machine.STATE / "build"
SANITIZERS = "address,undefined"


@dataclass(frozen=True)
class Build:
    """A configuration of the C++ build, and the checks of its session."""

    compiler: str  # of machine.COMPILERS
    standard: int
    flags: str = ""
    dlpack: str = "newest"
    sanitize: str = ""
    headers: tuple[str, ...] = ()  # the header sets whose headers are compiled alone
    tests: bool = True
    targets: tuple[str, ...] = ("all",)  # what is built for the tests
    left_out: str = ""  # a regex of the tests that do not depend on what differs from MAIN
    devices: bool = True  # the simulated drivers, and the tests that need them
    optimized: bool = False  # for measurements; Debug builds compile faster
    fuzzers: bool = False
    purpose: str = ""  # names the folder of a build that no other session shares

    @property
    def binds(self) -> bool:
        """Whether the build compiles headers with Python, alone or in both_bindings.cpp."""
        return bool(self.headers) and self.flags != NO_EXCEPTIONS

    @property
    def slow(self) -> bool:
        """Whether --fast omits the build."""
        return self != MAIN

    @property
    def name(self) -> str:
        parts = [self.compiler.replace("++", ""), str(self.standard)]
        parts += [self.purpose] if self.purpose else []
        parts += ["no-exceptions"] if "-fno-exceptions" in self.flags else []
        parts += [f"dlpack-{self.dlpack}"] if self.dlpack != "newest" else []
        parts += ["sanitized"] if self.sanitize == SANITIZERS else []
        parts += [f"{self.sanitize}-sanitizer"] if self.sanitize not in ("", SANITIZERS) else []
        parts += ["fuzzers"] if self.fuzzers else []
        return "-".join(parts)


CORE = ("dlbridge_core_headers",)
# The sets with Python take most of the time: with g++ alone. clang++ compiles the extensions.
BOTH = (*CORE, "dlbridge_python_headers", "dlbridge_module")
NO_EXCEPTIONS = "-fno-exceptions -fno-rtti"
MAIN = Build("g++", 17, headers=BOTH, optimized=True)
BUILDS = [
    MAIN,
    # With libc++, which has mdspan. Of the packages' tests it installs, and runs the examples.
    Build(
        "clang++",
        23,
        headers=CORE,
        devices=False,
        left_out="^(package[.]([^ei]|export)|layering|docs)",
    ),
    Build(
        "g++",
        17,
        dlpack="1.0",
        headers=CORE,
        # Of the headers, only abi.hpp depends on the version.
        targets=(
            *("unit_tests", "unit_tests_cpp20", "two_units", "without_exceptions"),
            "dlbridge_core",
        ),
        devices=False,
        left_out="^(unit[.]instruction|compile_fail|package[.](dlpack|ex|fetch|own)|layering|docs)",
    ),
    Build("g++", 17, sanitize=SANITIZERS, left_out="^(compile_fail|package|layering|docs)"),
    Build("g++", 20, headers=CORE, tests=False),
    Build("clang++", 17, headers=CORE, tests=False),
    Build("g++", 17, flags=NO_EXCEPTIONS, headers=CORE, tests=False),
    Build("clang++", 20, flags=NO_EXCEPTIONS, headers=CORE, tests=False),
]


@contextlib.contextmanager
def configured(session: nox.Session, build: Build, **options: str) -> Iterator[Path]:
    """Configures a build, and yields its folder while it holds the lock of that folder."""
    compiler = machine.COMPILERS[build.compiler]()
    folder = FOLDER / f"{build.name}-by-{Path(compiler.cxx).name}"  # one folder for each compiler
    machine.add_packages("libgtest-dev", "googletest")
    machine.add_packages("libbenchmark-dev", needed=True)  # and its shared library
    tools = machine.build_tools()
    environment = machine.build_environment(compiler)
    session.env.update({**environment, **machine.ccache_environment()})
    session.env["PATH"] = os.pathsep.join([session.bin, str(tools), os.environ["PATH"]])
    launcher = "" if compiler.is_zig else machine.ccache()
    debug = "-g1" if build.sanitize else ""  # line numbers for the reports of the sanitizers
    defines: dict[str, str] = {
        "CMAKE_BUILD_TYPE": "Release" if build.optimized else "Debug",
        "CMAKE_CXX_STANDARD": str(build.standard),
        "CMAKE_CXX_EXTENSIONS": "OFF",
        "CMAKE_CXX_FLAGS": f"{compiler.flags} {build.flags}".strip(),
        "CMAKE_CXX_FLAGS_DEBUG": debug,
        "CMAKE_C_FLAGS_DEBUG": debug,
        "CMAKE_CXX_COMPILER_LAUNCHER": launcher,
        "CMAKE_C_COMPILER_LAUNCHER": launcher,
        "CMAKE_PREFIX_PATH": str(machine.UNPACKED / "usr"),
        "DLBRIDGE_SANITIZE": build.sanitize,
        "DLBRIDGE_BENCH": "ON" if build.optimized else "OFF",
        "DLBRIDGE_TESTS": "ON",
        "DLBRIDGE_EACH_TEST": "ON" if build.optimized else "OFF",  # OFF takes half the time
        "DLBRIDGE_FUZZ": "ON" if build.fuzzers else "OFF",
        "DLBRIDGE_PYTHON": "ON" if build.binds else "OFF",
        "DLBRIDGE_TEST_MODULES": "ON" if build.optimized or build.sanitize else "OFF",
        "DLBRIDGE_TEST_DEVICES": "ON" if build.devices else "OFF",
        "DLBRIDGE_BRIDGES": "",  # resets what the session bridges left in the folder
        "DLBRIDGE_CUDA_INCLUDE_DIRS": "",
        "DLBRIDGE_REQUIRE_HIP": "OFF",
        "Python_EXECUTABLE": str(tools / "python"),
        **options,
    }
    if compiler.brings_libcxx:  # GoogleTest must use the same C++ library
        defines["CMAKE_DISABLE_FIND_PACKAGE_GTest"] = "ON"
        if source := machine.googletest_source():
            defines["FETCHCONTENT_SOURCE_DIR_GOOGLETEST"] = source
    if build.dlpack != "newest":
        defines["DLPACK_INCLUDE_DIR"] = str(machine.dlpack_header(build.dlpack))
    with machine.locked(folder.name):
        former = folder / ".configured"  # the former configuration; Ninja detects changed files
        if not former.exists() or former.read_text() != json.dumps([compiler.cxx, defines]):
            former.unlink(missing_ok=True)
            session.run(
                *[program(session, "cmake"), "-S", ".", "-B", str(folder), "-G", "Ninja"],
                *["--log-level=WARNING", "-Wno-deprecated"],
                *[f"-D{name}={value}" for name, value in defines.items()],
                *shlex.split(environment.get("CMAKE_ARGS", "")),  # cmake itself does not read them
                external=True,
            )
            former.write_text(json.dumps([compiler.cxx, defines]))
        yield folder


def program(session: nox.Session, name: str) -> str:
    """The path of a program on the session's PATH. nox searches the PATH of its own process, which
    lacks the tools that are in the checkout only."""
    if found := shutil.which(name, path=session.env.get("PATH")):
        return found
    session.error(f"{name} was not found on {session.env.get('PATH')}")


def cmake(session: nox.Session, build: Build, *targets: str, **options: str) -> Path:
    """Configures a build and builds targets. Returns the build folder."""
    with configured(session, build, **options) as folder:
        session.run(program(session, "cmake"), "--build", str(folder),
                    "--parallel", str(machine.processors()),
                    "--target", *targets, external=True)  # fmt: skip
    return folder


def ctest(session: nox.Session, folder: Path, *options: str) -> None:
    """Runs the tests of a build folder under a lock, because ctest writes its log there."""
    with machine.locked(f"{folder.name}-tests"):
        session.run(program(session, "ctest"), "--test-dir", str(folder), "--output-on-failure",
                    "--progress", "--no-tests=error", *options, external=True)  # fmt: skip
