# SPDX-License-Identifier: BSD-3-Clause
"""Finds or installs what the sessions require: tools, Python.h, a compiler and libraries.

The module imports only the standard library of Python 3.9, because it runs before any
installation. It installs into the checkout, where it also unpacks Debian's packages. Only root with
`--system-packages` or DLBRIDGE_SYSTEM_PACKAGES=1 lets it install them into the system.
"""

from __future__ import annotations

import ast
import contextlib
import fcntl
import functools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

CHECKOUT = Path(__file__).resolve().parent.parent
STATE = CHECKOUT / ".nox"
TOOLS = STATE / "tools"  # the virtual environment that has nox
UNPACKED = STATE / "debian"  # Debian's packages that are not installed into the system
SYSTEM_PACKAGES = "DLBRIDGE_SYSTEM_PACKAGES"  # 1 lets root install packages into the system

PYTHON_PACKAGE = f"python{sys.version_info.major}.{sys.version_info.minor}"


def say(text: str) -> None:
    print(f"-- {text}", flush=True)


def group(name: str) -> list[str]:
    """The requirements of a dependency group of pyproject.toml, the one list of versions. An array
    of strings in TOML is a list of Python, whose standard library reads TOML from 3.11 on."""
    text = (CHECKOUT / "pyproject.toml").read_text()
    found = re.search(rf"^{re.escape(name)} = (\[.*?\]) *(?:#.*)?$", text, re.MULTILINE | re.DOTALL)
    assert found, f"pyproject.toml has no dependency group {name}"
    return list(ast.literal_eval(found[1]))


def succeeds(*command: str | Path, **options: object) -> bool:
    """Whether a command runs and exits with 0; its output is not shown."""
    try:
        done = subprocess.run(
            [str(each) for each in command],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **options,  # type: ignore[call-overload]
        )
    except OSError:
        return False
    return bool(done.returncode == 0)


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Holds a lock among all processes of this checkout. Sessions run side by side, and share
    tools, build folders and wheels."""
    folder = STATE / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


# Debian's packages ----------------------------------------------------------------------------


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def may_install() -> bool:
    """Whether packages may be installed into the system: root has asked for it."""
    return is_root() and os.environ.get(SYSTEM_PACKAGES, "") not in ("", "0")


def has_apt() -> bool:
    return shutil.which("apt-get") is not None and shutil.which("dpkg-deb") is not None


def _apt_of_our_own() -> list[str]:
    """apt-get with lists and cache in the checkout; it writes nothing of the system's."""
    for part in ("lists/partial", "cache/archives/partial"):
        (STATE / "apt" / part).mkdir(parents=True, exist_ok=True)
    return [
        "apt-get",
        "-qq",
        f"-oDir::State::Lists={STATE / 'apt' / 'lists'}",
        f"-oDir::Cache={STATE / 'apt' / 'cache'}",
        "-oDebug::NoLocking=1",
        "-oAPT::Sandbox::User=",
    ]


def _say_where() -> None:
    """Says once where packages go; the programs that this one starts do not repeat it."""
    if "DLBRIDGE_SAID_WHERE" in os.environ:
        return
    os.environ["DLBRIDGE_SAID_WHERE"] = "1"
    say(
        f"Debian's packages go into {UNPACKED.relative_to(CHECKOUT)}, and the system stays as it is"
    )
    if is_root():
        say("with --system-packages, or DLBRIDGE_SYSTEM_PACKAGES=1, root installs them by apt-get")


def has_packages(*names: str) -> bool:
    """Whether Debian's packages are installed in the system."""
    return all(succeeds("dpkg-query", "-s", name) for name in names)


def _needed_by(apt: list[str], names: tuple[str, ...]) -> list[str]:
    """The packages and those of their dependencies that are not installed."""
    plan = subprocess.run(
        [*apt, "--simulate", "--no-install-recommends", "install", *names],
        capture_output=True,
        text=True,
    )
    return [line.split()[1] for line in plan.stdout.splitlines() if line.startswith("Inst ")]


def add_packages(*names: str, needed: bool = False) -> bool:
    """Unpacks Debian's packages below UNPACKED, or installs them if may_install(). If `needed`, it
    also unpacks their dependencies, which apt always installs. Returns False without apt, or if a
    package is unavailable."""
    if not has_apt():
        return False
    if has_packages(*names):
        return True
    with locked("debian"):
        return _add_packages(names, needed)


def _add_packages(names: tuple[str, ...], needed: bool) -> bool:
    if may_install():
        say(f"installing Debian's {' '.join(names)} into the system, as --system-packages allows")
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        wait = "-oDPkg::Lock::Timeout=300"  # another apt may hold the lock
        install = ["apt-get", "-qq", wait, "install", "-y", "--no-install-recommends", *names]
        return succeeds(*install, env=environment) or (
            succeeds("apt-get", "-qq", "update")
            and subprocess.run(install, env=environment, stdout=subprocess.DEVNULL).returncode == 0
        )
    _say_where()
    apt = _apt_of_our_own()
    downloads = STATE / "apt" / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    if not (STATE / "apt" / "updated").exists():
        if not succeeds(*apt, "update"):
            return False
        (STATE / "apt" / "updated").touch()
    for name in _needed_by(apt, names) if needed else names:
        if (UNPACKED / f".{name}").exists():
            continue
        say(f"unpacking Debian's {name}")
        before = set(downloads.glob("*.deb"))
        if not succeeds(*apt, "download", name, cwd=downloads):
            return False
        for package in set(downloads.glob("*.deb")) - before:
            UNPACKED.mkdir(parents=True, exist_ok=True)
            if not succeeds("dpkg-deb", "-x", package, UNPACKED):
                return False
        (UNPACKED / f".{name}").touch()
    return True


def unpacked_libraries() -> str:
    """The folders of shared libraries below UNPACKED, in the form of LD_LIBRARY_PATH."""
    folders = {library.parent for library in UNPACKED.glob("**/lib/**/*.so.*")}
    return os.pathsep.join(sorted(map(str, folders)))


# Python's own tools ---------------------------------------------------------------------------


def _find_pip() -> list[str] | None:
    """A command that runs the pip of this Python, or of Debian's wheel; None without either."""
    if succeeds(sys.executable, "-m", "pip", "--version"):
        return [sys.executable, "-m", "pip"]
    if not add_packages("python3-pip-whl"):
        return None
    for root in (Path("/"), UNPACKED):
        for wheel in root.glob("usr/share/python-wheels/pip-*.whl"):
            return [sys.executable, str(wheel / "pip")]
    return None


def _make_environment() -> bool:
    """Creates a virtual environment at TOOLS: by venv, or by virtualenv if ensurepip is missing.
    Returns whether it succeeded."""
    if succeeds(sys.executable, "-m", "venv", "--clear", TOOLS):
        return True
    shutil.rmtree(TOOLS, ignore_errors=True)
    pip = _find_pip()
    seed = STATE / "seed"
    return (
        pip is not None
        and succeeds(*pip, "install", "-q", "--target", seed, "virtualenv")
        and succeeds(
            sys.executable, "-m", "virtualenv", TOOLS, env={**os.environ, "PYTHONPATH": str(seed)}
        )
    )


def make_tools() -> Path:
    """Creates an environment with nox, and with uv if it is available, on the first call. Returns
    the Python of the environment."""
    python = TOOLS / "bin" / "python"
    with locked("tools"):
        if succeeds(python, "-c", "import nox"):
            return python
        say("creating an environment for the tools")
        if not _make_environment():
            sys.exit(
                "No virtual environment could be made: Python has neither pip nor ensurepip, and "
                f"Debian's python3-pip-whl could not be fetched. Install {PYTHON_PACKAGE}-venv, or "
                "any pip, and run this again."
            )
        pip = [str(python), "-m", "pip", "install", "-q"]
        if not succeeds(*pip, *group("tools"), *group("uv")):
            subprocess.run([*pip, *group("tools")], check=True)
    return python


def show_interpreters() -> None:
    """Lets nox find every CPython that pyenv has, beside those on PATH. A program that pyenv starts
    finds its own version alone."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    if os.access(root, os.X_OK):
        found = sorted(each.parents[1].name for each in root.glob("versions/3.*/bin/python3"))
        own = ".".join(map(str, sys.version_info[:3]))
        found.sort(key=lambda name: name != own)  # python3 stays the one that runs
        os.environ["PYENV_VERSION"] = ":".join(found)


def has_interpreter(version: str) -> bool:
    """Whether a CPython of a version, such as 3.13, can be run."""
    return succeeds(f"python{version}", "--version")


@functools.cache
def torch() -> list[str]:
    """The requirement of PyTorch; empty if pip would install the libraries of CUDA with it, which
    take gigabytes. pip's resolver answers first, and the answer is kept."""
    answer = STATE / "torch.json"
    wanted = group("torch")
    with locked("torch"):
        if not answer.exists() or json.loads(answer.read_text())[0] != wanted:
            report = STATE / "torch-report.json"
            pip = (TOOLS / "bin" / "python", "-m", "pip", "install", "-q")
            names = ["no such version"]
            if succeeds(*pip, "--dry-run", "--ignore-installed", "--report", report, *wanted):
                found = json.loads(report.read_text())["install"]
                names = [each["metadata"]["name"] for each in found]
            bad = [each for each in names if each.startswith(("nvidia-", "cuda-", "no such"))]
            answer.write_text(json.dumps([wanted, bad]))
        bad = json.loads(answer.read_text())[1]
    if bad:
        say(f"left out: PyTorch, as pip would install {bad[0]} for {' '.join(wanted)}")
    return [] if bad else wanted


# The variables of uv for settings of pip. uv does not read the configuration of pip.
OF_UV = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
    "constraint": "UV_CONSTRAINT",
}
WITHOUT_EFFECT = {  # settings that do not change what pip installs
    "cache-dir", "compile", "default-timeout", "disable-pip-version-check", "no-cache-dir",
    "no-color", "no-compile", "no-input", "no-python-version-warning", "no-warn-script-location",
    "progress-bar", "quiet", "require-virtualenv", "retries", "root-user-action", "timeout",
    "verbose",
}  # fmt: skip


@functools.cache
def uv_environment() -> dict[str, str] | None:
    """The environment variables with which uv installs as the configuration of pip requires. None
    without uv, or if uv lacks a setting of that configuration."""
    python = TOOLS / "bin" / "python"
    if not succeeds(python, "-m", "uv", "--version"):
        return None
    command = [str(python), "-m", "pip", "config", "list"]
    settings = subprocess.run(command, capture_output=True, text=True)
    # Like pip, uv then installs the newest version of any index.
    environment = {"UV_INDEX_STRATEGY": "unsafe-best-match", "UV_NO_PROGRESS": "1"}
    for line in settings.stdout.splitlines():
        name, _, value = line.partition("=")
        name = name.rpartition(".")[2]
        if name in WITHOUT_EFFECT:
            continue
        if name not in OF_UV:
            return None
        entries = " ".join(shlex.split(value)).split()
        if name == "find-links":  # pip ignores a folder that does not exist
            entries = [each for each in entries if "://" in each or Path(each).is_dir()]
        variable = OF_UV[name]
        if entries and variable not in os.environ:
            separator = "," if name == "find-links" else " "
            former = environment.get(variable, "").split(separator)
            environment[variable] = separator.join(dict.fromkeys([*filter(None, former), *entries]))
    return environment


def install(*packages: str) -> None:
    """Installs packages into the environment of the tools."""
    say(f"installing {' '.join(packages)}")
    python = str(TOOLS / "bin" / "python")
    environment = uv_environment()
    if environment is not None and succeeds(
        *(python, "-m", "uv", "pip", "install", "-q", "--python", python, *packages),
        env={**os.environ, **environment},
    ):
        return
    subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)


def add_group(name: str) -> Path:
    """Installs a dependency group into the environment of the tools, once for each state of the
    group. Returns the environment's folder of programs."""
    folder = TOOLS / "bin"
    complete = folder / f".complete-{name}"  # lists the installed packages
    with locked("tools"):
        if not complete.exists() or complete.read_text() != str(group(name)):
            install(*group(name))
            complete.write_text(str(group(name)))
    return folder


def build_tools() -> Path:
    """Installs the build tools into the environment that all sessions share, so that no session
    repeats the build of another. Returns the folder of the programs."""
    return add_group("build")


def tools_with(name: str, pattern: str) -> list[Path]:
    """The paths below the site-packages of the tools that match a pattern, once a dependency group
    is installed there. The group is asked for by name: other groups may bring such paths too."""
    add_group(name)
    return sorted(TOOLS.glob(f"lib/python*/site-packages/{pattern}"))


def ccache() -> str:
    """The path of ccache, which also speeds up builds of other checkouts; "" if unavailable."""
    program = TOOLS / "bin" / "ccache"
    refused = TOOLS / "bin" / ".without-ccache"
    with locked("tools"):
        if not (found := shutil.which("ccache")) and not program.exists() and not refused.exists():
            say("installing ccache")
            python = TOOLS / "bin" / "python"
            if not succeeds(python, "-m", "pip", "install", "-q", *group("ccache")):
                refused.touch()
    return found or (str(program) if program.exists() else "")


def ccache_environment() -> dict[str, str]:
    """The settings of ccache: all checkouts share results, and ccache runs no preprocessor."""
    return {
        "CCACHE_BASEDIR": str(CHECKOUT),
        "CCACHE_NOHASHDIR": "1",
        "CCACHE_DEPEND": "1",
        # The headers of a new checkout have new times. Precompiled headers require the last two.
        "CCACHE_SLOPPINESS": "include_file_ctime,include_file_mtime,pch_defines,time_macros",
    }


def commit() -> str:
    """The commit of the checkout, with + if files have changed since; "" without git."""
    if shutil.which("git") is None:
        return ""
    command = ["git", "describe", "--always", "--abbrev=12", "--match=", "--dirty=+"]
    return subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True).stdout.strip()


def processors() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2


# Compilers ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Compiler:
    """What to set CC and CXX to, and the flags that choose its C++ library."""

    c: str
    cxx: str
    flags: str = ""
    brings_libcxx: bool = False  # libraries built with another C++ library do not link
    is_zig: bool = False  # has its own cache


# With this macro libc++ checks the preconditions of every span and mdspan.
HARDENED = "-D_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_DEBUG"


def zig() -> Compiler:
    """clang++ and libc++ of the ziglang package, which an ordinary user can install."""
    folder = STATE / "zig"
    with locked("tools"):
        if not (folder / "ranlib").exists():
            say("installing ziglang for its clang++")
            install(*group("zig"))
            folder.mkdir(parents=True, exist_ok=True)
            for name in ("cc", "c++", "ar", "ranlib"):
                script = folder / name
                python = TOOLS / "bin" / "python"
                # -I: an isolated build of pip hides the packages of the Python that runs pip.
                script.write_text(f'#!/bin/sh\nexec "{python}" -I -m ziglang {name} "$@"\n')
                script.chmod(0o755)
    return Compiler(str(folder / "cc"), str(folder / "c++"), brings_libcxx=True, is_zig=True)


def _link_system_libraries(*packages: str) -> None:
    """Links the shared libraries of installed packages below UNPACKED, where the linker looks."""
    listed = subprocess.run(["dpkg", "-L", *packages], capture_output=True, text=True)
    for line in listed.stdout.splitlines():
        link = UNPACKED / line.lstrip("/")
        if ".so" in link.name and Path(line).is_file() and not link.exists():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(line)
    for name in ("lib", "lib64"):  # the linker's scripts name /lib also where all is in /usr/lib
        if not (UNPACKED / name).exists():
            (UNPACKED / name).symlink_to(Path("usr", name))


def unpacked_gcc() -> Compiler | None:
    """Debian's g++ below UNPACKED, as programs that call it there; None if it is unavailable. Its
    headers and libraries are those below UNPACKED, with the C library of the system."""
    folder = STATE / "gcc"
    if not add_packages("g++", needed=True) or not (UNPACKED / "usr" / "bin" / "g++").exists():
        return None
    with locked("tools"):
        if not (folder / "g++").exists():
            folder.mkdir(parents=True, exist_ok=True)
            _link_system_libraries("libc6", "libgcc-s1", "libstdc++6")
            (libraries,) = (each.parent for each in UNPACKED.glob("usr/lib/*/crt1.o"))
            for name in ("ar", "as", "gcc", "ld", "nm", "objcopy", "ranlib", "strip", "g++"):
                root = f'--sysroot="{UNPACKED}"' if name in ("gcc", "g++") else ""
                script = folder / name
                script.write_text(
                    f'#!/bin/sh\nLD_LIBRARY_PATH="{libraries}" PATH="{folder}:$PATH" '
                    f'exec "{UNPACKED}/usr/bin/{name}" {root} "$@"\n'
                )
                script.chmod(0o755)
    return Compiler(str(folder / "gcc"), str(folder / "g++"))


def find_gcc() -> Compiler:
    """g++, or another installed compiler, or else Debian's g++ unpacked, or zig's clang++."""
    if shutil.which("g++") is None and may_install():
        add_packages("g++")
    for c, cxx in (("gcc", "g++"), ("clang", "clang++"), ("cc", "c++")):
        if shutil.which(c) and shutil.which(cxx):
            return Compiler(c, cxx)
    return unpacked_gcc() or zig()


def find_clang() -> Compiler:
    """clang++ 19 with libc++, which has mdspan, or else zig's clang++."""
    if shutil.which("clang++-19") is None and may_install():
        add_packages("clang-19", "libc++-19-dev", "libc++abi-19-dev")
    if shutil.which("clang++-19") and Path("/usr/lib/llvm-19/include/c++/v1/mdspan").exists():
        return Compiler("clang-19", "clang++-19", f"-stdlib=libc++ {HARDENED}", brings_libcxx=True)
    return zig()


def has_libfuzzer(compiler: Compiler) -> bool:
    """Whether programs can be linked with libFuzzer; zig's clang++ does not have it."""
    if compiler.is_zig:
        return False
    command = [compiler.cxx, "-print-resource-dir"]
    folder = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return any(Path(folder).glob("lib/**/libclang_rt.fuzzer*.a"))


COMPILERS: dict[str, Callable[[], Compiler]] = {"g++": find_gcc, "clang++": find_clang}


# What building needs --------------------------------------------------------------------------


def python_headers() -> dict[str, str]:
    """Environment variables with which a build finds Python.h outside Python's include folder."""
    include = Path(sysconfig.get_paths()["include"])
    if (include / "Python.h").exists():
        return {}
    say(f"no Python.h in {include}")
    package = f"lib{PYTHON_PACKAGE}-dev"
    if not add_packages(package):
        sys.exit(
            f"Python.h is missing from {include}. Install the development package of this Python "
            f"(on Debian: {package}) and run this again."
        )
    if (include / "Python.h").exists():
        return {}
    headers = UNPACKED / "usr" / "include"
    own = headers / include.name
    return {
        "CPATH": f"{own}{os.pathsep}{headers}",
        "CMAKE_ARGS": shlex.quote(f"-DPython_INCLUDE_DIR={own}"),  # it is split as by a shell
    }


def build_environment(compiler: Compiler) -> dict[str, str]:
    """The environment in which CMake and pip build."""
    environment = {**python_headers(), "CC": compiler.c, "CXX": compiler.cxx}
    if Path(compiler.cxx).parent == STATE / "gcc":  # its headers are there; named twice, they come
        environment.pop("CPATH", None)  # before those of C++, which include them with include_next
    return environment


def googletest_source() -> str:
    """Debian's source of GoogleTest, for compilers with another C++ library; "" if missing."""
    for root in (Path("/"), UNPACKED):
        if (source := root / "usr" / "src" / "googletest").exists():
            return str(source)
    return ""


def dlpack_header(version: str) -> Path:
    """A directory with an older dlpack/dlpack.h, extracted from a wheel that contains it."""
    carrier, member = {
        "1.0": ("cuda-core==0.2.0", "cuda/core/experimental/dlpack.h"),
    }[version]
    target = STATE / f"dlpack-{version}"
    header = target / "dlpack" / "dlpack.h"
    if not header.exists():
        pip = [str(TOOLS / "bin" / "python"), "-m", "pip"]
        wheels = ["--only-binary=:all:", "--python-version=3.11", "--platform=manylinux2014_x86_64"]
        subprocess.run(
            [*pip, "download", "-q", "--no-deps", *wheels, "-d", str(target), carrier], check=True
        )
        (wheel,) = target.glob("*.whl")
        header.parent.mkdir(exist_ok=True)
        header.write_bytes(zipfile.ZipFile(wheel).read(member))
    return target
