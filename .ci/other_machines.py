"""Builds the C++ tests for other machines and with other compilers, and runs them by emulation.

CONFIGURATIONS is the only table of these machines and compilers. Each has a build folder, and
the module counts the tests by the names that GoogleTest prints: one test of CTest may run many of
GoogleTest, and passes if some of them skip themselves.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

import machine

RESULTS = machine.STATE / "machines.json"
LOGS = machine.STATE / "logs"
HERE = "x86-64"  # the configuration with which the others are compared
ZIG = "zig"


@dataclass(frozen=True)
class Configuration:
    """A machine or a compiler."""

    name: str
    cxx: str  # a command, or ZIG
    packages: tuple[str, ...] = ()  # of Debian
    system: tuple[str, str] | None = None  # CMake's names of another system and its processor
    emulator: tuple[str, ...] = ()  # the command that runs a program
    flags: str = ""
    options: tuple[str, ...] = ()  # further options of CMake
    standard: int = 17  # of the tests
    groups: tuple[str, ...] = ("unit", "runtime", "simulated")  # of the tests
    headers: tuple[int, ...] = (17,)  # the standards in which each header is compiled alone

    @property
    def c(self) -> str:
        return self.cxx.replace("clang++", "clang").replace("g++", "gcc")


def cross(name: str, triple: str) -> Configuration:
    """A Linux machine with Debian's cross compiler and QEMU's emulation of its programs."""
    processor = triple.partition("-")[0]
    return Configuration(
        name,
        f"{triple}-g++",
        (f"g++-{triple}", "qemu-user"),
        ("Linux", processor),
        (f"qemu-{processor}", "-L", f"/usr/{triple}"),
        headers=(17, 20),
    )


def compiler(name: str) -> Configuration:
    """Another compiler of this machine. Compilers differ in what they accept, so the unit tests,
    which include every header, are enough."""
    package = name.replace("clang++", "clang")
    return Configuration(
        package, name, (package,), standard=23, groups=("unit",), headers=(17, 20, 23)
    )


MINGW = "x86_64-w64-mingw32"
CONFIGURATIONS = [
    Configuration(HERE, "g++", ("g++",), headers=(17, 20)),
    cross("aarch64", "aarch64-linux-gnu"),
    cross("s390x", "s390x-linux-gnu"),  # big-endian
    cross("armhf", "arm-linux-gnueabihf"),  # 32-bit
    # Zig links statically with musl by default, and then programs could not load the simulated
    # drivers. The loader, which is also the C library, is that of Debian's musl. It lacks a
    # function that Zig's runtime for undefined behaviour calls, so the programs trap there instead.
    Configuration("musl", ZIG, ("musl",), ("Linux", "x86_64"), ("/lib/ld-musl-x86_64.so.1",),
                  flags="-target x86_64-linux-musl -dynamic -fsanitize-trap=undefined"),
    # Linked statically, so that Wine finds all libraries.
    Configuration("windows", f"{MINGW}-g++-posix", ("g++-mingw-w64-x86-64-posix", "wine", "wine64"),
                  ("Windows", "AMD64"), ("wine",),
                  options=("CMAKE_EXE_LINKER_FLAGS=-static", f"CMAKE_RC_COMPILER={MINGW}-windres"),
                  headers=(17, 20)),
    compiler("g++-11"),
    compiler("g++-12"),
    compiler("clang++-13"),
    compiler("clang++-14"),
    compiler("clang++-15"),
    compiler("clang++-16"),
    compiler("clang++-19"),
]  # fmt: skip


@dataclass
class Result:
    """What a configuration ran, or why it could not run."""

    name: str
    headers: list[int] = field(default_factory=list)  # standards in which they all compile
    lacks: str = ""  # why it could not run here
    problem: str = ""  # the step that failed
    tests: dict[str, str] = field(default_factory=dict)  # passed, skipped or failed, by name

    def count(self, outcome: str) -> int:
        return Counter(self.tests.values())[outcome]

    @property
    def broken(self) -> bool:
        return bool(self.problem) or "failed" in self.tests.values()


def missing(each: Configuration) -> str:
    """Installs what a configuration requires. Returns what it lacks."""
    programs = [*each.emulator[:1], *([] if each.cxx == ZIG else [each.c, each.cxx])]
    lacking = [name for name in programs if not shutil.which(name)]
    if lacking and not machine.may_install():
        return (
            f"Debian's {' '.join(each.packages)} are not installed; --system-packages as root does"
        )
    if lacking and not machine.add_packages(*each.packages):
        return f"one of Debian's {' '.join(each.packages)} is unavailable"
    lacking = [name for name in programs if not shutil.which(name)]
    return f"not found: {' '.join(lacking)}" if lacking else ""


class Failure(Exception):
    """A step of a configuration failed."""


def run(log: Path, step: str, *command: str, **environment: str) -> None:
    """Runs a step and appends its output to a log."""
    with log.open("ab") as output:
        output.write(f"\n$ {' '.join(command)}\n".encode())
        output.flush()
        status = subprocess.call(command, cwd=machine.CHECKOUT, stdout=output,
                                 stderr=subprocess.STDOUT,
                                 env={**os.environ, **environment})  # fmt: skip
    if status:
        raise Failure(f"{step} failed: see {log.relative_to(machine.CHECKOUT)}")


def configure(each: Configuration, folder: Path, log: Path, environment: dict[str, str]) -> None:
    of_zig = machine.zig() if each.cxx == ZIG else None
    launcher = "" if of_zig else machine.ccache()
    defines = {
        "CMAKE_BUILD_TYPE": "Debug",
        "CMAKE_C_COMPILER": of_zig.c if of_zig else each.c,
        "CMAKE_CXX_COMPILER": of_zig.cxx if of_zig else each.cxx,
        "CMAKE_C_FLAGS": each.flags,
        "CMAKE_CXX_FLAGS": each.flags,
        "CMAKE_CXX_FLAGS_DEBUG": "",
        "CMAKE_C_FLAGS_DEBUG": "",
        "CMAKE_CXX_COMPILER_LAUNCHER": launcher,
        "CMAKE_C_COMPILER_LAUNCHER": launcher,
        "CMAKE_CXX_STANDARD": str(each.standard),
        "CMAKE_CXX_EXTENSIONS": "OFF",
        "CMAKE_CROSSCOMPILING_EMULATOR": ";".join(each.emulator),
        "CMAKE_DISABLE_FIND_PACKAGE_GTest": "ON",  # that of Debian is for this machine and g++
        "FETCHCONTENT_SOURCE_DIR_GOOGLETEST": machine.googletest_source(),
        "DLBRIDGE_PYTHON": "OFF",
        "DLBRIDGE_BENCH": "OFF",
        "DLBRIDGE_BRIDGES": "",
        "Python_EXECUTABLE": str(machine.TOOLS / "bin" / "python"),
    }
    if each.system:
        defines["CMAKE_SYSTEM_NAME"], defines["CMAKE_SYSTEM_PROCESSOR"] = each.system
    options = [*(f"{name}={value}" for name, value in defines.items()), *each.options]
    run(log, "the configuration", "cmake", "-S", ".", "-B", str(folder), "-G", "Ninja", "--fresh",
        *(f"-D{option}" for option in options), **environment)  # fmt: skip


STATES = {"OK": "passed", "SKIPPED": "skipped", "FAILED": "failed"}
OF_GTEST = re.compile(r"^\[ +(OK|SKIPPED|FAILED) +\] (\w[\w/]*\.[\w/]+)", re.MULTILINE)
PREFIX = re.compile(r"unit\.(cpp20\.)?|simulated\.")  # of the programs in tests/CMakeLists.txt


def counted(report: Path) -> dict[str, str]:
    """The outcomes in a JUnit report of CTest, by names that are the same on all machines: those of
    GoogleTest, of whose tests one test of CTest runs one or several."""
    outcomes: dict[str, str] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name, status = case.get("name", ""), case.get("status")
        lines = OF_GTEST.findall(case.findtext("system-out") or "")
        inner = {each: STATES[state] for state, each in lines}
        program = PREFIX.match(name)
        prefix = program[0] if program else f"{name}: "
        outcomes.update({prefix + each: state for each, state in inner.items()})
        if status == "fail" and "failed" not in inner.values():  # such as a crash
            outcomes[name] = "failed"
        elif not inner and status == "run":
            outcomes[name] = "passed"
        elif not inner:
            skipped = case.find("skipped")  # CTest writes it for a program that is missing, too
            reason = "" if skipped is None else skipped.get("message", "")
            outcomes[name] = "skipped" if reason.startswith("SKIP") else "failed"
    return outcomes


FOLDERS = {"unit": "unit", "runtime": "runtime", "simulated": "fakes/simulated_driver"}


def test(each: Configuration, result: Result, log: Path) -> None:
    """Configures and builds a configuration, and runs its tests."""
    folder = machine.STATE / "build" / f"machine-{each.name}"
    environment = {
        **machine.ccache_environment(),
        "PATH": os.pathsep.join([str(machine.build_tools()), os.environ["PATH"]]),
        "WINEPREFIX": str(machine.STATE / "wine"),
        "WINEDEBUG": "-all",
    }
    parallel = f"-j{machine.processors()}"
    configure(each, folder, log, environment)
    build = ("cmake", "--build", str(folder), parallel, "--target")
    run(
        log,
        "the build",
        *build,
        *(f"tests/{FOLDERS[group]}/all" for group in each.groups),
        **environment,
    )
    report = folder / "tests.xml"
    report.unlink(missing_ok=True)
    with contextlib.suppress(Failure):  # the report has the failed tests
        run(log, "the tests", "ctest", "--test-dir", str(folder), "--output-on-failure", parallel,
            "--timeout", "1200", "--tests-regex", f"^({'|'.join(each.groups)})[.]",
            "--no-tests=error", "--test-output-size-passed", "10000000",
            "--test-output-size-failed", "10000000", "--output-junit", str(report),
            **environment)  # fmt: skip
    result.tests = counted(report)
    for standard in each.headers:
        run(log, f"the configuration for C++{standard}", "cmake", str(folder),
            f"-DCMAKE_CXX_STANDARD={standard}", **environment)  # fmt: skip
        run(log, f"compiling each header in C++{standard}", *build,
            "dlbridge_core_headers_verify_interface_header_sets", **environment)  # fmt: skip
        result.headers.append(standard)


def examined(each: Configuration) -> Result:
    """Runs a configuration and describes a problem instead of raising."""
    result = Result(each.name, lacks=missing(each))
    if result.lacks:
        return result
    machine.say(f"{each.name}: started")
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"machine-{each.name}.log"
    log.unlink(missing_ok=True)
    try:
        with machine.locked(f"machine-{each.name}"):
            test(each, result, log)
    except (Failure, OSError, subprocess.CalledProcessError) as fault:
        result.problem = str(fault)
    return result


def print_table(results: list[Result]) -> None:
    base = results[0].tests
    print(f"\n{'':12} {'passed':>7} {'skipped':>7} {'failed':>7} {'of ' + HERE:>9}  headers in C++")
    for each in results:
        counts = "".join(f" {each.count(state):7}" for state in ("passed", "skipped", "failed"))
        alone = ", ".join(map(str, each.headers)) or "-"
        print(f"{each.name:12}{counts} {len(base):9}  {alone}")
    for each in results:
        if each.lacks or each.problem:
            print(f"{each.name}: {f'NOT RUN: {each.lacks}' if each.lacks else each.problem}")
        for name, state in each.tests.items():
            if state == "failed" or (state == "skipped" and base.get(name) != "skipped"):
                print(f"{each.name}: {state}: {name}")
        if each.tests:
            absent = Counter(name.partition(".")[0] for name in base.keys() - each.tests.keys())
            for group, count in sorted(absent.items()):
                print(f"{each.name}: not built: {count} tests of {group}")


def run_all(names: list[str]) -> bool:
    """Runs the configurations, or those with these names, after HERE. Returns whether none failed;
    the table names those that lack something to run."""
    known = [each.name for each in CONFIGURATIONS]
    if unknown := sorted(set(names) - set(known)):
        raise SystemExit(f"no such machine: {', '.join(unknown)}; there are {', '.join(known)}")
    machine.add_packages("googletest")
    chosen = [each for each in CONFIGURATIONS if not names or each.name in {HERE, *names}]
    results = [examined(each) for each in chosen]
    print_table(results)
    RESULTS.write_text(json.dumps([asdict(each) for each in results], indent=1))
    return not any(each.broken for each in results)
