# SPDX-License-Identifier: BSD-3-Clause
"""Measures what dlbridge's header, one `def` and each further one add to an extension.

Compiles small modules with and without a tensor argument, and with many functions of different
tensors, and the same with nanobind, also its nb_ndarray.cpp, which every extension with an ndarray
compiles. Prints the user time of the compiler in seconds (the minimum of several rounds) and the
bytes of code and constants. With --check the exit status is 1 if a value exceeds its limit. The
environment variable CXX names the compiler.
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
MAX_BYTES_OF_EACH = 5_000  # of each further function
FURTHER = 24  # functions beside the first one

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

TYPES = (("float", 2), ("double", 1), ("std::int32_t", 3), ("std::uint8_t", 2), ("std::int64_t", 1))
MANY_DLBRIDGE = """
#include <dlbridge/pybind11.hpp>
template <int N> struct shape_of;
template <> struct shape_of<1> { using type = dlbridge::shape<-1>; };
template <> struct shape_of<2> { using type = dlbridge::shape<-1, -1>; };
template <> struct shape_of<3> { using type = dlbridge::shape<-1, -1, -1>; };
template <class T, int N> using tensor = dlbridge::tensor_span<T, typename shape_of<N>::type>;
PYBIND11_MODULE(ours, m) {
  dlbridge::init(m);
%s}
"""
MANY_NDARRAYS = """
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
template <class T, int N>
using tensor = nanobind::ndarray<T, nanobind::ndim<N>, nanobind::device::cpu>;
NB_MODULE(theirs, m) {
%s}
"""


def functions(count: int, call: str) -> str:
    """Functions of two tensors and a number, each with other types of tensors."""
    lines = []
    for i in range(count):
        (x, n), (y, k) = TYPES[i % len(TYPES)], TYPES[i // len(TYPES) % len(TYPES)]
        body = f"[](tensor<{x}, {n}>, tensor<{y} const, {k}>, int i) {{ return i + {i}; }}"
        lines.append(f'  {call}"f{i}", {body});\n')
    return "".join(lines)


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

    @classmethod
    def of_each(cls, name: str, many: Source, first: Source) -> Cost:
        """The cost of each function of `many` beside the first."""
        return cls(name, (many.seconds - first.seconds) / FURTHER,
                   (many.size - first.size) // FURTHER)  # fmt: skip


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
    for count in (1, 1 + FURTHER):
        texts[f"ours{count}"] = MANY_DLBRIDGE % functions(count, "dlbridge::def(m, ")
        texts[f"theirs{count}"] = MANY_NDARRAYS % functions(count, "m.def(")
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
        Cost.of_each("dlbridge, each further def", source[f"ours{1 + FURTHER}"], source["ours1"]),
        Cost.of_each(
            "nanobind, each further function", source[f"theirs{1 + FURTHER}"], source["theirs1"]
        ),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a value exceeds its limit")
    parser.add_argument("--quick", action="store_true", help="one round, to test the benchmark")
    arguments = parser.parse_args()
    one, returning, one_theirs, further, further_theirs = costs(1 if arguments.quick else 5)
    for ours, theirs in ((one, one_theirs), (returning, one_theirs), (further, further_theirs)):
        print(f"{ours.name:32} {ours.seconds:6.3f} s  {ours.size:7} bytes  "
              f"{ours.seconds / theirs.seconds:5.2f} of nanobind's seconds")  # fmt: skip
    for theirs in (one_theirs, further_theirs):
        print(f"{theirs.name:32} {theirs.seconds:6.3f} s  {theirs.size:7} bytes")
    print(f"limits: one def {MAX_TIME_RATIO} of nanobind's seconds and {MAX_BYTES} bytes; "
          f"each further def {MAX_BYTES_OF_EACH} bytes")  # fmt: skip
    over = (
        one.seconds > MAX_TIME_RATIO * one_theirs.seconds
        or one.size > MAX_BYTES
        or further.size > MAX_BYTES_OF_EACH
    )
    return int(arguments.check and over)


if __name__ == "__main__":
    sys.exit(main())
