# SPDX-License-Identifier: BSD-3-Clause
"""Compiles each case of a folder twice: as it is it must compile, and with -DWRONG it must not.

A case states in a line `// says: REGEX` what the compiler must then print, so that it fails for the
reason it was written for and no other, and in a line `// std: c++20` that it is not C++17. The
compiler prints at most MOST_LINES lines, or those of a line `// lines: 40`. The header that several
cases include first is compiled once for all of them. As they are, the cases compile in one file,
each in a namespace; those that cannot, and all cases if that file does not compile, alone.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

MOST_LINES = 20  # two errors of Clang, with the paths of includes and instantiations
ENOUGH = 4  # cases with the same first header, for which precompiling it takes less time


# What cannot stand in a namespace of its own: specializations for other namespaces, and macros.
ALONE = re.compile(r"^namespace dlbridge|struct dlbridge::|^#(define|undef)", re.MULTILINE)
INCLUDE = re.compile(r"^#include .*$", re.MULTILINE)
# The entry of a module is a C function, of which a file can have one.
ENTRY = re.compile(r"^(PYBIND11|NB)_MODULE\(\w+, m[^{]*\{", re.MULTILINE)
SCOPE = {"PYBIND11": "pybind11::module_", "NB": "nanobind::module_"}

# After -fsyntax-only, zig looks for the object that it did not ask its clang++ for.
ZIG_ERROR = re.compile(r"^.*error: failed to rename '[^']*' into '[^']*': FileNotFound\n?", re.M)
# What a compiler states about its command line, such as the -c that zig adds, names no position in
# a file. It is no part of the message for the author of the code.
ABOUT_OPTIONS = re.compile(r"^[^\s:]+: (warning|note|remark): .*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    file: Path
    standard: str
    message: str  # that the compiler must print
    header: str  # the first that it includes
    most_lines: int  # that the compiler may print

    @classmethod
    def read(cls, file: Path) -> Case:
        def first(pattern: str) -> str:
            match = re.search(pattern, file.read_text(), re.MULTILINE)
            return match.group(1) if match else ""

        standard = first(r"// std: (\S+)") or "c++17"
        return cls(file, standard, first(r"// says: (.*)"), first(r"^(#include .*)"),
                   int(first(r"// lines: (\d+)") or MOST_LINES))  # fmt: skip

    @property
    def group(self) -> tuple[str, str]:
        return self.standard, self.header

    @property
    def body(self) -> str | None:
        """The code after the includes, as a part of a file with several cases; None if it has to
        stand alone."""
        text = self.file.read_text()
        if ALONE.search(text):
            return None
        text = ENTRY.sub(lambda entry: f"void bind({SCOPE[entry[1]]}& m) {{", text)
        return f"namespace {self.file.stem} {{\n{INCLUDE.sub('', text)}\n}}\n"


class Compiler:
    """A compiler with its include folders, and the headers that it has precompiled."""

    def __init__(self, program: str, includes: list[str], folder: Path) -> None:
        folders = [f"-I{each}" for entry in includes for each in entry.split(";")]
        self.command = [program, *folders]
        self.folder = folder
        self.precompiled: dict[tuple[str, str], Path] = {}
        version = self._run("--version").stdout
        self.reads_gch = "clang" not in version  # clang++ is given the file that it shall read

    def _run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [*self.command, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True)

    def precompile(self, cases: list[Case]) -> None:
        for group, count in Counter(case.group for case in cases).items():
            if count < ENOUGH:
                continue
            standard, line = group
            header = self.folder / f"precompiled{len(self.precompiled)}.hpp"
            header.write_text(f"{line}\n")
            output = Path(f"{header}.gch")
            done = self._run(f"-std={standard}", "-x", "c++-header", header, "-o", output)
            if done.returncode == 0:  # if not, each case reports the same error
                self.precompiled[group] = header if self.reads_gch else output

    def compile(self, case: Case, *defines: str) -> tuple[bool, str]:
        """Whether a case compiles, and what the compiler prints."""
        return self._compile(case.group, case.file, *defines)

    def compile_together(self, cases: list[Case]) -> set[Case]:
        """The cases that compile as they are, in one file for each standard."""
        compiled: set[Case] = set()
        for standard in {case.standard for case in cases}:
            parts = {case: case.body for case in cases if case.standard == standard}
            bodies = [body for body in parts.values() if body is not None]
            (group, _), *_ = Counter(case.group for case in parts).most_common()
            lines = {line for case in parts for line in INCLUDE.findall(case.file.read_text())}
            file = self.folder / f"together_{standard}.cpp"
            file.write_text("\n".join([group[1], *sorted(lines), *bodies]))
            if self._compile(group, file, f"-iquote{cases[0].file.parent}")[0]:
                compiled.update(case for case, body in parts.items() if body is not None)
        return compiled

    def _compile(self, group: tuple[str, str], file: Path, *options: str) -> tuple[bool, str]:
        arguments: list[str | Path] = [f"-std={group[0]}", "-fsyntax-only", *options]
        if group in self.precompiled:
            option = "-include" if self.reads_gch else "-include-pch"
            arguments += [option, self.precompiled[group]]
        result = self._run(*arguments, file)
        printed = ZIG_ERROR.sub("", result.stderr)
        is_compiled = result.returncode == 0 or (
            printed != result.stderr and "error:" not in printed
        )
        return is_compiled, ABOUT_OPTIONS.sub("", printed)


def fault(compiler: Compiler, case: Case, is_right: bool) -> str:
    """What is wrong with a case, which may have compiled as it is; empty when nothing is."""
    right, why = (True, "") if is_right else compiler.compile(case)
    wrong, printed = compiler.compile(case, "-DWRONG")
    if not right:
        return f"the positive twin does not compile\n{why}"
    if wrong:
        return "the wrong one compiles"
    if not case.message or not re.search(case.message, printed):
        return f"the compiler's message is not /{case.message}/\n{printed}"
    if (lines := printed.count("\n")) > case.most_lines:
        return f"the compiler prints {lines} lines, above {case.most_lines}\n{printed}"
    return ""


def main() -> int:
    program, folder, *includes = sys.argv[1:]
    cases = [Case.read(file) for file in sorted(Path(folder).glob("*.cpp"))]
    with tempfile.TemporaryDirectory() as state, ThreadPoolExecutor(os.cpu_count()) as pool:
        compiler = Compiler(program, includes, Path(state))
        compiler.precompile(cases)
        right = compiler.compile_together(cases)
        faults = list(pool.map(lambda case: fault(compiler, case, case in right), cases))
    for case, text in zip(cases, faults):
        print(f"FAILED {case.file.name}: {text}" if text else f"ok     {case.file.name}")
    print(f"{faults.count('')} of {len(cases)} cases passed")
    return int(any(faults) or not cases)


if __name__ == "__main__":
    sys.exit(main())
