# SPDX-License-Identifier: BSD-3-Clause
"""The CMake interface: what find_package(dlbridge) gives projects, and the options of the build."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from api import CHECKOUT, CannotCollect, line

OFF = [f"-DDLBRIDGE_{each}=OFF" for each in ("TESTS", "BENCH", "PYTHON")]
# A project that prints what find_package defines. CMake lists no alias targets and no components,
# so that it tries each of some candidates.
PROJECT = r"""
cmake_minimum_required(VERSION 3.24)
project(consumer CXX)
get_cmake_property(commands COMMANDS)
get_cmake_property(variables VARIABLES)
find_package(dlbridge CONFIG REQUIRED OPTIONAL_COMPONENTS ${CANDIDATES})
foreach(each IN LISTS CANDIDATES)
  if(TARGET dlbridge::${each})
    message("target dlbridge::${each}")
  endif()
  if(dlbridge_${each}_FOUND)
    message("component dlbridge.${each}")
  endif()
endforeach()
foreach(kind command variable)
  string(TOUPPER ${kind}s property)
  get_cmake_property(${kind}s_now ${property})
  list(REMOVE_ITEM ${kind}s_now ${${kind}s})
  foreach(each IN LISTS ${kind}s_now)
    if(each MATCHES "^[Dd][Ll][Bb][Rr][Ii][Dd][Gg][Ee]_")
      message("${kind} ${each}")
    endif()
  endforeach()
endforeach()
"""
# Variables that find_package itself sets, which differ between versions of CMake.
OF_CMAKE = re.compile(
    r"variable dlbridge_(DIR|CONFIG|(CONSIDERED|FIND|VERSION)_\w+|NOT_FOUND_MESSAGE|\w+_FOUND)"
)
READ = re.compile(r"(?:\$\{|if\(|AND |NOT )((?:DLBRIDGE|DLPACK)_[A-Z_]+)\b")
OPTION = re.compile(r'^ *option\((\w+) "[^"]*" (\S+?)\)', re.MULTILINE)
CACHED = re.compile(r'^ *set\((\w+) "([^"]*)"\s+CACHE (\w+) ', re.MULTILINE)


def cmake(*arguments: str) -> str:
    done = subprocess.run(["cmake", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise CannotCollect(f"cmake {' '.join(arguments)}\n{done.stdout}{done.stderr}")
    return done.stderr  # what message() without a mode prints


def package_lines(prefix: Path, folder: Path) -> Iterator[str]:
    files = [path for path in sorted(prefix.rglob("*")) if path.is_file()]
    scripts = "".join(path.read_text() for path in files if path.suffix == ".cmake")
    candidates = {*re.findall(r"dlbridge::(\w+)", scripts), *re.findall(r"\w+", scripts)}
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(PROJECT)
    names = ";".join(sorted(each for each in candidates if re.fullmatch("[a-z_]{3,20}", each)))
    printed = cmake("-S", str(folder), "-B", str(folder / "build"), "-G", "Ninja",
                    f"-DCANDIDATES={names}", f"-DCMAKE_PREFIX_PATH={prefix}")  # fmt: skip
    for each in printed.splitlines():
        if each and not OF_CMAKE.fullmatch(each):
            yield line(*each.split(" ", 1))
    pages = "".join(path.read_text() for path in (CHECKOUT / "docs").rglob("*.md"))
    for name in set(READ.findall(scripts)) & set(re.findall(r"\w+", pages)):
        yield line("input", name)
    for path in files:
        where = path.relative_to(prefix)
        if where.parts[:2] != ("include", "dlbridge"):
            yield line("file", where.as_posix())
        if path.suffix == ".pc":
            for key in re.findall(r"^(\w+):", path.read_text(), re.MULTILINE):
                yield line("pkg-config", f"{path.stem}.{key}")


def option_lines() -> Iterator[str]:
    for path in [CHECKOUT / "CMakeLists.txt", *sorted((CHECKOUT / "cmake").glob("*.cmake"))]:
        text = path.read_text()
        for name, default in OPTION.findall(text):
            yield line("option", name, f"BOOL = {default.strip('${}')}")
        for name, default, type_ in CACHED.findall(text):
            yield line("option", name, f"{type_} = {default}")


def collect() -> Iterator[str]:
    for each in ("cmake", "ninja"):
        if shutil.which(each) is None:
            raise CannotCollect(f"{each} is not installed")
    yield from option_lines()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        build, prefix = str(folder / "build"), folder / "prefix"
        cmake("-S", str(CHECKOUT), "-B", build, "-G", "Ninja", *OFF)
        cmake("--install", build, "--prefix", str(prefix), "--component", "dlbridge")
        yield line("install-component", "dlbridge")
        yield from package_lines(prefix, folder / "consumer")
