# SPDX-License-Identifier: BSD-3-Clause
"""The examples: how to run each, and the gallery docs/examples.md, which is made of their READMEs.

    python3 .ci/gallery.py          writes docs/examples.md
    python3 .ci/gallery.py --check  fails if docs/examples.md differs

A README begins with a title, one sentence, and a picture or the output of the program; then comes
the command, with how long it takes. The gallery has these. Its first link to docs/ is the page that
explains the example. Its first block of text is the output, which CI compares.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
PAGE = CHECKOUT / "docs" / "examples.md"
LIBRARIES, EXTENSIONS, PROGRAMS = "Array libraries in C++", "Extension modules", "Python programs"


@dataclass(frozen=True)
class Example:
    """A folder of examples/. Its program is run there; {build} is the folder that CMake builds."""

    name: str
    subject: str
    program: tuple[str, ...] = ("python", "demo.py")
    projects: tuple[str, ...] = ()  # folders that pip installs
    requires: tuple[str, ...] = ("numpy",)  # dependency groups of pyproject.toml
    wheels: tuple[str, ...] = ("headers",)  # functions of package.py; `build` takes minutes
    session: str = "examples"  # the session of CI that tests it

    @property
    def folder(self) -> Path:
        return CHECKOUT / "examples" / self.name

    @property
    def by_cmake(self) -> bool:
        return "{build}" in self.program[0]

    @property
    def readme(self) -> str:
        return (self.folder / "README.md").read_text()


# The one list of examples, in the order of the gallery.
EXAMPLES = (
    Example("plain_cpp", LIBRARIES, ("{build}/plain_cpp",), requires=()),
    Example("cpp_tour", LIBRARIES, ("{build}/cpp_tour",), requires=()),
    Example("cpp_devices", LIBRARIES, ("{build}/cpp_devices",), requires=(),
            session="runtime"),
    Example("array_library", LIBRARIES, projects=(".",)),
    Example("image_filter", EXTENSIONS, projects=(".",), requires=("numpy", "images"),
            session="extension"),
    Example("before_after", EXTENSIONS, projects=(".",), requires=("numpy", "torch")),
    Example("build_systems", EXTENSIONS, projects=("setuptools", "meson")),
    Example("three_bindings", EXTENSIONS, projects=(".",)),
    Example("cython_filter", EXTENSIONS, projects=(".",)),
    Example("one_binary", EXTENSIONS, projects=(".",), requires=("numpy", "nanobind-backend")),
    Example("moved_bindings", EXTENSIONS, projects=(".",), session="moved_bindings"),
    Example("point_cloud", EXTENSIONS, projects=(".",), requires=("numpy", "images")),
    Example("frameworks", EXTENSIONS, ("python", "-I", "demo.py"), (".",),  # -I: the installed one
            ("examples", "torch")),
    Example("training_loop", EXTENSIONS, ("python", "train.py"), (".",), ("numpy", "torch"),
            session="training_loop"),
    Example("conformance", PROGRAMS, ("dlbridge-tools", "conformance", "plain:Plain"),
            wheels=("tools",)),
    Example("dask_arrays", PROGRAMS, ("python", "spread.py"), (), ("dask",), ("build",), "dask"),
    Example("mpi_halo", PROGRAMS, ("mpiexec", "-n", "4", "python", "-m", "mpi4py", "heat.py"),
            (".",), ("mpich",), ("headers", "build"), "mpi"),
    Example("cuda_ipc", PROGRAMS, ("python", "share.py"), wheels=("build",), session="gpu"),
)  # fmt: skip
NAMED = {each.name: each for each in EXAMPLES}


def part(example: Example, pattern: str, *, optional: bool = False) -> str:
    """The part of a README that a pattern has in parentheses."""
    found = re.search(pattern, example.readme, re.DOTALL | re.MULTILINE)
    if not found and not optional:
        sys.exit(f"examples/{example.name}/README.md has nothing like {pattern}")
    return found[1] if found else ""


def shows(example: Example) -> str:
    return part(example, r"\A# [^\n]+\n\n(.+?)\n\n").replace("\n", " ")


def output(example: Example) -> str:
    return part(example, r"^```text\n(.+?)^```$", optional=True)


def list_all() -> str:
    width = max(map(len, NAMED))
    lines = (f"  {each.name:{width}}  {without_links(shows(each))}" for each in EXAMPLES)
    return "\n".join(["python3 noxfile.py example NAME builds and runs one of these:", *lines])


def without_links(text: str) -> str:
    return re.sub(r"\[([^\]]*)\]\([^)]*\)|`", r"\1", text)


def differs(example: Example, printed: str) -> str:
    """How the output of the program differs from that in the README; "" if it does not."""
    expected = output(example)
    pattern = ".*".join(map(re.escape, re.split(r"[.]{3}\n?", expected)))  # ... is any text
    if re.fullmatch(pattern, printed, re.DOTALL):
        return ""
    return f"examples/{example.name}/README.md shows\n{expected}and the program printed\n{printed}"


# The gallery ------------------------------------------------------------------------------------

HEAD = """\
# Examples

Each example is a complete project in a folder of [examples](../examples/README.md). One command
builds and runs it, with git and Python 3.9 or newer; `python3 noxfile.py example` lists all. The
program of the example has made the output or the picture.

Times are for two cores. The first example also installs the tools, in a minute. Where an example
needs the Python package, the first one also builds it, in some minutes.

<!-- .ci/gallery.py writes this page from the README of each example. -->
"""


def moved(text: str, folder: Path) -> str:
    """Markdown of a folder, with links that are relative to the folder of the gallery."""

    def link(match: re.Match[str]) -> str:
        return "](" + Path(os.path.relpath(folder / match[1], PAGE.parent)).as_posix()

    return re.sub(r"\]\((?!https?:)([^)#\s]+)", link, text)


def card(example: Example) -> str:
    """The README until its command, which comes before the output here, and where to read on."""
    command = re.escape(f"python3 noxfile.py example {example.name}  # ")
    body = part(example, rf"\A# [^\n]+\n\n(.+?^```sh\n{command}[^\n]+\n```)$")
    sentence, _, rest = body.partition("\n\n")
    result, _, command = rest.rpartition("\n\n")
    body = "\n\n".join([sentence, command, result])
    page = part(example, r"\]\((\.\./\.\./docs/[^)]+)\)")
    title = re.search(r"\A# (.+)", (example.folder / page.partition("#")[0]).read_text())
    links = f"Files: [examples/{example.name}]({example.folder / 'README.md'})."
    links += f" Documentation: [{title[1] if title else page}]({page})."
    return f"### {example.name}\n\n" + moved(f"{body}\n\n{links}\n", example.folder)


def gallery() -> str:
    text = HEAD
    for subject in dict.fromkeys(each.subject for each in EXAMPLES):
        cards = [card(each) for each in EXAMPLES if each.subject == subject]
        text += "\n".join([f"\n## {subject}\n", *cards])
    return text


def main() -> int:
    folders = {each.parent.name for each in (CHECKOUT / "examples").glob("*/README.md")}
    if folders != set(NAMED):
        print(f"only in examples/ or only in EXAMPLES: {sorted(folders ^ set(NAMED))}")
        return 1
    if "--check" not in sys.argv:
        PAGE.write_text(gallery())
    elif PAGE.read_text() != gallery():
        print("docs/examples.md differs from the READMEs; python3 .ci/gallery.py writes it")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
