# SPDX-License-Identifier: BSD-3-Clause
"""Measures what dlbridge's headers and each `def` cost an extension, in both modes.

Compiles small modules with and without a tensor argument, and with many functions of different
tensors; header-only, and with DLBRIDGE_COMPILED; the same with pybind11's array_t, and with
nanobind, also its nb_ndarray.cpp, which every extension with an ndarray compiles. Further a C++
unit that calls copy_of, and the sources that compiled mode compiles once. Prints the user time of
the compiler in seconds (the minimum of several rounds) and the bytes of code and constants that an
object has; and from which unit on the compiled mode is the faster one. With --check the exit status
is 1 if a value exceeds its limit. The environment variable CXX names the compiler.
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
SOURCES = INCLUDE / "dlbridge" / "src"
COMPILED = ("-DDLBRIDGE_COMPILED",)
ONCE = ("core", "devices", "python", "pybind11")  # the sources that an extension compiles once
# Of a module with one def, and with a result: its time to that of a module with one array_t, and
# the bytes that it has beyond a module of pybind11. Header-only, the import of tensors and the
# texts of refusals are the floor.
MAX_TIME_RATIOS = {"": (1.6, 1.9), "compiled": (1.15, 1.2)}
TIME_SLACK = 0.10
MAX_BYTES = {"": (117_000, 190_000), "compiled": (14_000, 20_000)}
MAX_BYTES_OF_COPY = 20_000  # of a C++ unit that calls copy_of, compiled
MAX_BYTES_OF_EACH = 5_000  # of each further function
UNITS = 10  # of an extension, for the incremental build
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
COPY_OF = """
#include <dlbridge/dlbridge.hpp>
using namespace dlbridge;
managed_tensor copied(tensor_view const& view) { return copy_of(view); }
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
    options: tuple[str, ...] = ()
    seconds: float = float("inf")
    size: int = 0

    def compile(self, compiler: list[str], flags: list[str]) -> None:
        output = self.path.with_suffix(".o").name
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run(
            [*compiler, *flags, *self.options, "-c", str(self.path), "-o", output], check=True
        )
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


@dataclass
class Measured:
    """The sources by name, and what they cost. A name that ends with + is that of compiled mode."""

    source: dict[str, Source]

    def added(self, name: str, to: str) -> Cost:
        return Cost.of(name, [self.source[name]], self.source[to])

    def once(self) -> float:
        """The seconds of the sources that compiled mode compiles once."""
        return sum(self.source[each].seconds for each in ONCE)

    def first_faster_unit(self, name: str) -> float:
        """The number of units from which on a complete build is faster in compiled mode."""
        gain = self.source[name].seconds - self.source[f"{name}+"].seconds
        return self.once() / gain if gain > 0 else float("inf")


def measure(rounds: int) -> Measured:
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    flags = ["-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", *include_flags()]
    texts = {"plain": PYBIND11, "array_t": ARRAY_T, "ours": DLBRIDGE, "returns": RETURNS,
             "copy": COPY_OF, "nanobind": NANOBIND, "theirs": NDARRAY}  # fmt: skip
    for count in (1, 1 + FURTHER):
        texts[f"ours{count}"] = MANY_DLBRIDGE % functions(count, "dlbridge::def(m, ")
        texts[f"theirs{count}"] = MANY_NDARRAYS % functions(count, "m.def(")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        source = {name: Source(Path(f"{name}.cpp")) for name in texts}
        for name, text in texts.items():
            source[name].path.write_text(text)
        for name in ("ours", "returns", "copy"):
            Path(f"{name}+.cpp").write_text(texts[name])
            source[f"{name}+"] = Source(Path(f"{name}+.cpp"), COMPILED)
        for name in ONCE:
            source[name] = Source(SOURCES / f"{name}.cpp", COMPILED)
        source["nb_ndarray"] = Source(Path(nanobind.__file__).parent / "src" / "nb_ndarray.cpp")
        # The sources alternate, so that a slow phase of the machine affects all of them.
        for _ in range(rounds):
            for each in source.values():
                each.compile(compiler, flags)
        os.chdir("/")
    return Measured(source)


def report(found: Measured) -> list[str]:
    """Prints the costs, and returns what exceeds its limit."""
    source = found.source
    failures = []

    def judge(text: str, passes: bool) -> None:
        print(text + ("" if passes else "  EXCEEDED"))
        failures.extend([] if passes else [text])

    for mode, mark in (("", ""), ("compiled", "+")):
        for place, (name, what) in enumerate((("ours", "one def"), ("returns", "with a result"))):
            cost = found.added(f"{name}{mark}", "plain")
            seconds = source[f"{name}{mark}"].seconds
            ratio = seconds / source["array_t"].seconds
            slow, large = MAX_TIME_RATIOS[mode][place], MAX_BYTES[mode][place]
            judge(f"{mode or 'header-only':12}{what:14} {seconds:6.2f} s, {ratio:4.2f} of array_t "
                  f"(limit {slow}); {cost.size:7} bytes added (limit {large})",
                  ratio <= slow * (1 + TIME_SLACK) and cost.size <= large)  # fmt: skip
    for mark, limit in (("", float("inf")), ("+", MAX_BYTES_OF_COPY)):
        each = source[f"copy{mark}"]
        mode = "compiled" if mark else "header-only"
        judge(f"{mode:12}{'copy_of in C++':14} "
              f"{each.seconds:6.2f} s, {each.size:7} bytes (limit {limit})",
              each.size <= limit)  # fmt: skip
    first = [found.first_faster_unit(name) for name in ("ours", "returns")]
    print(f"compiled once: {found.once():.1f} s. A complete build is faster from unit "
          f"{first[0]:.1f} on, with results from unit {first[1]:.1f} on")  # fmt: skip
    for name, what in (("ours", "one def"), ("returns", "with a result")):
        slow, fast = (source[f"{name}{mark}"].seconds for mark in ("", "+"))
        whole = UNITS * fast + found.once()
        print(f"one of {UNITS} units {what}, built again: {slow:.2f} s header-only, {fast:.2f} s "
              f"compiled; all of them: {UNITS * slow:.0f} s, {whole:.0f} s")  # fmt: skip
    theirs = Cost.of("nanobind", [source["theirs"], source["nb_ndarray"]], source["nanobind"])
    print(f"nanobind, one ndarray: {theirs.seconds:.2f} s and {theirs.size} bytes added")
    for who, name in (("dlbridge", "ours"), ("nanobind", "theirs")):
        each = Cost.of_each(who, source[f"{name}{1 + FURTHER}"], source[f"{name}1"])
        judge(f"{who}, each further function: {each.seconds:.3f} s and {each.size} bytes added",
              who != "dlbridge" or each.size <= MAX_BYTES_OF_EACH)  # fmt: skip
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a value exceeds its limit")
    parser.add_argument("--quick", action="store_true", help="one round, to test the benchmark")
    arguments = parser.parse_args()
    failures = report(measure(1 if arguments.quick else 5))
    return int(arguments.check and bool(failures))


if __name__ == "__main__":
    sys.exit(main())
