# SPDX-License-Identifier: BSD-3-Clause
"""Configures, builds and tests presets of CMakePresets.json with the compilers of this machine."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import machine

if TYPE_CHECKING:
    import nox


def folder_of(preset: str) -> Path:
    """The build folder of a preset, as the presets name it."""
    return machine.CHECKOUT / "build" / preset


def prepare(session: nox.Session, preset: str) -> machine.Compiler:
    """Sets the environment in which a session builds: the compiler of the preset, the tools and the
    libraries. Returns the compiler: clang++ for the presets in CLANG, and else g++."""
    machine.add_packages("libgtest-dev", "googletest", "libbenchmark-dev", needed=True)
    compiler = machine.find_clang() if preset in CLANG else machine.find_gcc()
    launcher = "" if compiler.is_zig else machine.ccache()
    session.env.update({
        **machine.build_environment(compiler),
        **machine.ccache_environment(),
        "CMAKE_BUILD_PARALLEL_LEVEL": str(machine.processors()),
        "CMAKE_CXX_COMPILER_LAUNCHER": launcher,
        "CMAKE_C_COMPILER_LAUNCHER": launcher,
        "CMAKE_PREFIX_PATH": str(machine.UNPACKED / "usr"),
        "CTEST_PARALLEL_LEVEL": str(machine.processors()),
        "CXXFLAGS": compiler.flags,
        "PATH": os.pathsep.join([*(session.bin_paths or ()), str(machine.build_tools()),
                                os.environ["PATH"]]),
    })  # fmt: skip
    return compiler


def configure(session: nox.Session, preset: str, suffix: str = "", **options: str) -> Path:
    """Configures a preset. Returns its build folder; a suffix distinguishes several of them."""
    compiler = prepare(session, preset)
    options = {"Python_EXECUTABLE": str(machine.TOOLS / "bin" / "python"), **options}
    if compiler.brings_libcxx:  # GoogleTest must use the same C++ library
        options["CMAKE_DISABLE_FIND_PACKAGE_GTest"] = "ON"
        if source := machine.googletest_source():
            options["FETCHCONTENT_SOURCE_DIR_GOOGLETEST"] = source
    folder = folder_of(preset + suffix)
    more = session.env.get("CMAKE_ARGS") or ""  # cmake itself does not read them
    arguments = [*(f"-D{name}={value}" for name, value in options.items()), *shlex.split(more)]
    former = folder / ".configured"  # the former configuration; Ninja detects changed files
    wanted = repr([compiler, arguments, (machine.CHECKOUT / "CMakePresets.json").read_text()])
    if not former.exists() or former.read_text() != wanted:
        session.run(program(session, "cmake"), "--preset", preset, "-B", str(folder), "--fresh",
                    "--log-level=WARNING", "-Wno-deprecated", *arguments,
                    external=True)  # fmt: skip
        former.write_text(wanted)
    return folder


# Those that clang++ builds. A preset states no compiler that a machine may have by another name.
CLANG = ("clang-23", "clang-headers-no-exceptions", "fuzzers")


def program(session: nox.Session, name: str) -> str:
    """The path of a program on the session's PATH. nox searches the PATH of its own process, which
    lacks the tools that are in the checkout only."""
    if found := shutil.which(name, path=session.env.get("PATH")):
        return found
    session.error(f"{name} was not found on {session.env.get('PATH')}")


def build(
    session: nox.Session, preset: str, *targets: str, suffix: str = "", **options: str
) -> Path:
    """Configures a preset and builds targets, or those of its build preset. Returns its folder.
    It holds a lock, as sessions that run side by side share folders."""
    with machine.locked(preset + suffix):
        folder = configure(session, preset, suffix, **options)
        what = [str(folder), "--target", *targets] if targets else ["--preset", preset]
        session.run(program(session, "cmake"), "--build", *what, external=True)
    return folder


def test(session: nox.Session, preset: str, *options: str) -> None:
    """Runs the tests of a preset under a lock, because ctest writes its log there."""
    with machine.locked(f"{preset}-tests"):
        session.run(program(session, "ctest"), "--preset", preset, *options, external=True)
