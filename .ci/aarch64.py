"""Runs the Python tests on emulated aarch64.

    python3 noxfile.py aarch64 -- [arguments for pytest]

The program unpacks Debian's Python for arm64, cross-compiles the package and the test modules, and
lets the kernel start programs of aarch64 by QEMU, also those that the tests start. Only root can
register the emulator, and install it, which requires --system-packages.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import machine

STATE = machine.STATE / "aarch64"
ROOT = STATE / "root"
SITE = STATE / "site-packages"
PACKAGE = STATE / "package" / "dlbridge"
RESULTS = machine.STATE / "aarch64.json"
TRIPLE = "aarch64-linux-gnu"
VERSION = "3.11"  # of Debian 12's Python
LEFT_OUT = {
    "tools": "no library has rows for this machine",
    "peers": "the same",
    "test_extension_stubs.py": "pybind11-stubgen is not installed",
    "test_two_versions.py": "its modules are not built",
    "test_allocations.py": "the emulator would load the replacement of malloc, too",
    "test_soak.py": "emulation is too slow",
    "test_exits.py": "emulation is too slow",
}
REGISTER = Path("/proc/sys/fs/binfmt_misc")
NAME = "dlbridge-aarch64"
MAGIC = rb"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
MASK = rb"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"


def run(*command: object, **environment: str) -> None:
    subprocess.run([*map(str, command)], check=True, env={**os.environ, **environment})


def unpack_root() -> None:
    """Unpacks Python, its headers and what they need, with the dependencies that apt finds."""
    if (ROOT / "usr" / "bin" / f"python{VERSION}").exists():
        return
    for folder in ("lists/partial", "archives/partial"):
        (STATE / "apt" / folder).mkdir(parents=True, exist_ok=True)
    (STATE / "apt" / "status").touch()  # nothing is installed for arm64
    settings = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "Dir::State::Lists": STATE / "apt" / "lists",
        "Dir::State::Status": STATE / "apt" / "status",
        "Dir::Cache": STATE / "apt",
        "APT::Sandbox::User": "root",
    }
    debian = Path("/etc/apt/sources.list.d/debian.sources")
    if debian.exists():
        settings |= {"Dir::Etc::SourceList": debian, "Dir::Etc::SourceParts": "-"}
    apt = ["apt-get", "-qq", *(f"-o{key}={value}" for key, value in settings.items())]
    run(*apt, "update")
    run(*apt, "install", "--download-only", "--no-install-recommends", "-y",
        f"python{VERSION}", f"libpython{VERSION}-dev", "libstdc++6")  # fmt: skip
    for package in sorted((STATE / "apt" / "archives").glob("*.deb")):
        run("dpkg", "-x", package, ROOT)


def cross_compile() -> Path:
    """Builds the package's module and the modules of the tests. Returns the build folder."""
    folder = machine.STATE / "build" / "aarch64-python"
    include = ROOT / "usr" / "include"
    defines = {
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": "aarch64",
        "CMAKE_C_COMPILER": f"{TRIPLE}-gcc",
        "CMAKE_CXX_COMPILER": f"{TRIPLE}-g++",
        "CMAKE_CXX_FLAGS": f"-I{include}",  # pyconfig.h includes that of the machine
        "CMAKE_C_FLAGS": f"-I{include}",
        "CMAKE_CXX_COMPILER_LAUNCHER": machine.ccache(),
        "CMAKE_BUILD_TYPE": "Debug",
        "CMAKE_CXX_FLAGS_DEBUG": "",
        "CMAKE_CXX_STANDARD": "17",
        "CMAKE_DISABLE_FIND_PACKAGE_GTest": "ON",  # that of Debian is for this machine
        "FETCHCONTENT_SOURCE_DIR_GOOGLETEST": machine.googletest_source(),
        "DLBRIDGE_BENCH": "OFF",
        "DLBRIDGE_TESTS": "ON",
        "DLBRIDGE_PYTHON": "ON",
        "DLBRIDGE_TEST_DEVICES": "OFF",
        "Python_EXECUTABLE": str(machine.TOOLS / "bin" / "python"),
        "Python_INCLUDE_DIR": str(include / f"python{VERSION}"),
        "PYTHON_MODULE_EXTENSION": f".cpython-{VERSION.replace('.', '')}-{TRIPLE}.so",
    }
    environment = {
        **machine.ccache_environment(),
        "PATH": os.pathsep.join([str(machine.build_tools()), os.environ["PATH"]]),
    }
    run("cmake", "-S", machine.CHECKOUT, "-B", folder, "-G", "Ninja", "--log-level=WARNING",
        *(f"-D{key}={value}" for key, value in defines.items()), **environment)  # fmt: skip
    run("cmake", "--build", folder, "--target", "dlbridge_core", "extension", "foreign_module",
        **environment)  # fmt: skip
    modules = folder / "python-modules"  # FindPython names one for the Python that runs CMake
    shutil.copy(next(modules.glob("foreign.cpython-*.so")), modules / "foreign.so")
    shutil.rmtree(PACKAGE, ignore_errors=True)
    shutil.copytree(machine.CHECKOUT / "python" / "dlbridge", PACKAGE)
    shutil.copy(next((folder / "python").glob("_core*.so")), PACKAGE)
    return folder


def install_site() -> None:
    if not SITE.exists():
        run(machine.TOOLS / "bin" / "python", "-m", "pip", "install", "-q", "--target", SITE,
            "--platform", f"manylinux2014_{TRIPLE.partition('-')[0]}", "--python-version", VERSION,
            "--only-binary=:all:", "numpy", "pytest")  # fmt: skip


@contextlib.contextmanager
def emulation() -> Iterator[None]:
    """The kernel runs programs of aarch64 by QEMU."""
    emulator = shutil.which("qemu-aarch64")
    assert emulator is not None
    entry = REGISTER / NAME
    if not REGISTER.joinpath("register").exists():
        run("mount", "-t", "binfmt_misc", "binfmt_misc", REGISTER)
    if not entry.exists():
        line = b":".join([b"", NAME.encode(), b"M", b"", MAGIC, MASK, emulator.encode(), b""])
        REGISTER.joinpath("register").write_bytes(line)
    try:
        yield
    finally:
        entry.write_text("-1")


def main() -> int:
    packages = (f"g++-{TRIPLE}", "qemu-user", "googletest")
    if machine.may_install():
        machine.add_packages(*packages)
    if not machine.is_root() or not machine.has_packages(*packages):
        print(f"not run: it requires root and Debian's {' '.join(packages)}, which root installs "
              "with --system-packages")  # fmt: skip
        return 1
    unpack_root()
    install_site()
    folder = cross_compile()
    modules = folder / "python-modules"
    paths = [PACKAGE.parent, modules, SITE, machine.CHECKOUT / "tests" / "python"]
    ignored = [f"--ignore=tests/python/{each}" for each in LEFT_OUT]
    with emulation():
        tests = subprocess.run(
            [str(ROOT / "usr" / "bin" / f"python{VERSION}"), "-m", "pytest", "-q", "-p",
             "no:cacheprovider", "--peers=numpy", "tests/python", *ignored, *sys.argv[1:]],
            cwd=machine.CHECKOUT,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "QEMU_LD_PREFIX": str(ROOT),
                 "DLBRIDGE_TEST_MODULES": str(modules),
                 "PYTHONDONTWRITEBYTECODE": "1",
                 "PYTHONPATH": os.pathsep.join(map(str, paths))},
        )  # fmt: skip
    print(tests.stdout)
    for name, reason in LEFT_OUT.items():
        print(f"left out: tests/python/{name}: {reason}")
    lines = tests.stdout.strip().splitlines() or [f"status {tests.returncode}"]
    RESULTS.write_text(json.dumps({"machine": "aarch64", "tests": lines[-1].strip("= ")}))
    return tests.returncode


if __name__ == "__main__":
    sys.exit(main())
