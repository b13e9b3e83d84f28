# SPDX-License-Identifier: BSD-3-Clause
"""Measures what dlbridge's header, one `def` and each further one cost an extension.

Compiles small modules with and without a tensor argument, and with many functions of different
tensors; the same with pybind11's array_t, and with nanobind, also its nb_ndarray.cpp, which every
extension with an ndarray compiles. Prints the user time of the compiler in seconds (the minimum of
several rounds) and the bytes of code and constants. With --check the exit status is 1 if a value
exceeds its limit. The environment variable CXX names the compiler.
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
# The time of a module with one def, and with a result, to that of a module with one array_t.
MAX_TIME_RATIOS = (1.35, 1.5)
TIME_SLACK = 0.10
MAX_BYTES = (65_000, 110_000)  # that the def adds
MAX_BYTES_OF_EACH = 5_000  # of each further function
FURTHER = 24  # functions beside the first one

PYBIND11 = """
#include <pybind11/pybind11.h>
PYBIND11_MODULE(plain, m) { m.def("f", [](pybind11::object const&) {}); }
"""
ARRAY_T = """
#include <pybind11/numpy.h>
using matrix = pybind11::array_t<float>;
PYBIND11_MODULE(theirs, m) { m.def("f", [](matrix const&) {}); }
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


def costs(rounds: int) -> tuple[list[Cost], dict[str, float]]:
    """The costs of dlbridge, of dlbridge with a result, and of nanobind; the seconds of sources."""
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    flags = ["-std=c++17", "-O3", "-fPIC", "-fvisibility=hidden", *include_flags()]
    texts = {"pybind11": PYBIND11, "array_t": ARRAY_T, "ours": DLBRIDGE, "returns": RETURNS,
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
    added = [
        Cost.of("dlbridge, one def", [source["ours"]], source["pybind11"]),
        Cost.of("dlbridge, one def with a result", [source["returns"]], source["pybind11"]),
        Cost.of("nanobind, one ndarray", [source["theirs"], library], source["nanobind"]),
        Cost.of_each("dlbridge, each further def", source[f"ours{1 + FURTHER}"], source["ours1"]),
        Cost.of_each(
            "nanobind, each further function", source[f"theirs{1 + FURTHER}"], source["theirs1"]
        ),
    ]
    return added, {name: each.seconds for name, each in source.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a value exceeds its limit")
    parser.add_argument("--quick", action="store_true", help="one round, to test the benchmark")
    arguments = parser.parse_args()
    added, seconds = costs(1 if arguments.quick else 5)
    for each in added:
        print(f"{each.name:32} {each.seconds:6.3f} s  {each.size:7} bytes added")
    one, returning, _, further, _ = added
    failed = further.size > MAX_BYTES_OF_EACH
    for name, cost, limit, most in zip(("ours", "returns"), (one, returning), MAX_TIME_RATIOS,
                                       MAX_BYTES, strict=True):  # fmt: skip
        ratio = seconds[name] / seconds["array_t"]
        print(f"{cost.name:32} {seconds[name]:6.3f} s, {ratio:5.2f} of array_t (limit {limit}); "
              f"{cost.size} bytes (limit {most})")  # fmt: skip
        failed |= ratio > limit * (1 + TIME_SLACK) or cost.size > most
    return int(arguments.check and failed)


if __name__ == "__main__":
    sys.exit(main())
