"""Measures what dlbridge's header and one `def` add to an extension, compared with nanobind.

Compiles small modules with and without a tensor argument, and nanobind's nb_ndarray.cpp, which
every extension with an ndarray also compiles. Prints the user time of the compiler in seconds (the
minimum of several rounds) and the bytes of code and constants. With --check the exit status is 1
if a value exceeds its limit. The environment variable CXX names the compiler.
"""

from __future__ import annotations

import argparse
import os
import resource
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

import nanobind
import pybind11

INCLUDE = Path(__file__).resolve().parents[1] / "include"
MAX_TIME_RATIO = 1.5  # to the time that nanobind adds
MAX_BYTES = 150_000

PYBIND11 = """
#include <pybind11/pybind11.h>
PYBIND11_MODULE(plain, m) { m.def("f", [](pybind11::object const&) {}); }
"""
DLBRIDGE = """
#include <dlbridge/pybind11.hpp>
using shape = dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent>;
using matrix = dlbridge::tensor_span<float const, shape>;
PYBIND11_MODULE(ours, m) {
  dlbridge::init(m);
  dlbridge::def(m, "f", [](matrix) {});
}
"""
RETURNS = """
#include <dlbridge/pybind11.hpp>
using shape = dlbridge::shape<dlbridge::dynamic_extent, dlbridge::dynamic_extent>;
using matrix = dlbridge::argument<float const, shape>;
PYBIND11_MODULE(ours, m) {
  dlbridge::init(m);
  dlbridge::def(m, "f", [](matrix in) { return in.empty_like<float>(); });
}
"""
NANOBIND = """
#include <nanobind/nanobind.h>
NB_MODULE(plain, m) { m.def("f", [](nanobind::object) {}); }
"""
NDARRAY = """
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
using matrix = nanobind::ndarray<float const, nanobind::ndim<2>, nanobind::device::cpu>;
NB_MODULE(theirs, m) { m.def("f", [](matrix) {}); }
"""


@dataclass
class Source:
    """A source file, and the cost of compiling it: the minimum of all rounds so far."""

    path: Path
    seconds: float = float("inf")
    size: int = 0

    def compile(self, compiler: list[str], flags: list[str]) -> None:
        output = self.path.with_suffix(".o").name
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([*compiler, *flags, "-c", str(self.path), "-o", output], check=True)
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        self.seconds = min(self.seconds, seconds)
        listing = subprocess.check_output(["size", output], text=True)
        self.size = int(listing.splitlines()[-1].split()[0])


@dataclass(frozen=True)
class Cost:
    """The cost of some sources minus that of a baseline."""

    name: str
    seconds: float
    size: int

    @classmethod
    def of(cls, name: str, sources: list[Source], baseline: Source) -> Cost:
        seconds = sum(each.seconds for each in sources) - baseline.seconds
        return cls(name, seconds, sum(each.size for each in sources) - baseline.size)


def include_flags() -> list[str]:
    dlpack = subprocess.check_output([sys.executable, "-m", "dlbridge", "--include-dir"], text=True)
    theirs = Path(nanobind.__file__).parent
    folders = [
        dlpack.strip(),
        sysconfig.get_path("include"),
        pybind11.get_include(),
        str(theirs / "include"),
        str(theirs / "ext" / "robin_map" / "include"),
    ]
    return [f"-I{INCLUDE}", *(flag for each in folders for flag in ("-isystem", each))]


def costs(rounds: int) -> list[Cost]:
    """The costs of dlbridge, of dlbridge with a result, and of nanobind."""
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    flags = ["-std=c++17", "-O3", "-fPIC", "-fvisibility=hidden", *include_flags()]
    texts = {"pybind11": PYBIND11, "ours": DLBRIDGE, "returns": RETURNS,
             "nanobind": NANOBIND, "theirs": NDARRAY}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        source = {name: Source(Path(f"{name}.cpp")) for name in texts}
        for name, text in texts.items():
            source[name].path.write_text(text)
        library = Source(Path(nanobind.__file__).parent / "src" / "nb_ndarray.cpp")
        # The sources alternate, so that a slow phase of the machine affects all of them.
        for _ in range(rounds):
            for each in (*source.values(), library):
                each.compile(compiler, flags)
        os.chdir("/")
    return [
        Cost.of("dlbridge, one def", [source["ours"]], source["pybind11"]),
        Cost.of("dlbridge, one def with a result", [source["returns"]], source["pybind11"]),
        Cost.of("nanobind, one ndarray", [source["theirs"], library], source["nanobind"]),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a value exceeds its limit")
    parser.add_argument("--quick", action="store_true", help="one round, to test the benchmark")
    arguments = parser.parse_args()
    results = costs(1 if arguments.quick else 5)
    theirs = results[-1]
    for each in results:
        print(f"{each.name:32} {each.seconds:6.2f} s  {each.seconds / theirs.seconds:5.2f} of "
              f"nanobind's  {each.size:7} bytes")  # fmt: skip
    ours = results[0]
    print(f"limits of one def: {MAX_TIME_RATIO} of nanobind's seconds, {MAX_BYTES} bytes")
    over = ours.seconds > MAX_TIME_RATIO * theirs.seconds or ours.size > MAX_BYTES
    return int(arguments.check and over)


if __name__ == "__main__":
    sys.exit(main())
