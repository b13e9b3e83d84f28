# SPDX-License-Identifier: BSD-3-Clause
"""Checks README.md, docs/ and the READMEs of examples/: their code runs, and their references lead
to something that exists.

A Python block without a source is run here, except those of notebooks. The blocks of a page run in
their order and share one namespace. Where a comment after print begins with <, ... or "expected",
it is the text that must be printed there; ... stands for any text. Any other block of code, and any
text that can be compared, names its source in a comment above it,

    <!-- from examples/plain_cpp/main.cpp#hook -->

and must equal that region of a file which is built and run elsewhere, between [hook] and [/hook].
Links lead to files of the checkout, and anchors to headings; a link whose text is the path of a
page leads to that page. "spec 2.3" in any source cites a section of
docs/reference/protocol.md. docs/reference/errors.md has one row for each errc, in their order, and
docs/reference/environment.md one for each environment variable (check_environment.py).

--without NAME leaves out the Python block that imports a package which is not installed, and those
that follow on its page, and names it.
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

from check_environment import environment_faults

CHECKOUT = Path(__file__).resolve().parents[2]
# Pages whose code is not run.
LINKS_ONLY = ("CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md")
NOTEBOOKS = ("docs/explanation/exploring_dlpack.md",)  # run_notebooks.py runs them
BLOCK = re.compile(
    r"(?:<!-- from (?P<file>\S+)#(?P<region>\w+) -->\n)?```(?P<language>[^`\n]*)\n(?P<code>.*?)```",
    re.DOTALL,
)
# Blocks that need no source: shell commands, output of programs, pictures.
WITHOUT_SOURCE = {"", "sh", "console", "text", "mermaid"}


def region_of(file: Path, region: str) -> str | None:
    match = re.search(
        rf"^[^\n]*\[{region}\]\n(.*?)^[^\n]*\[/{region}\]",
        file.read_text() if file.is_file() else "",
        re.DOTALL | re.MULTILINE,
    )
    return match and textwrap.dedent(match.group(1)).strip()


# A line that prints, with its output; other comments describe it.
PRINTS = re.compile(r"^\s*print\(.*\)  # (?P<text>(?:<|[.]{3}|expected ).*)$")


class Printed:
    """Runs a block, and compares what it prints with its comments."""

    def __init__(self, code: str, where: str) -> None:
        matches = {i: PRINTS.match(line) for i, line in enumerate(code.splitlines(), 1)}
        self.expected = {i: match["text"] for i, match in matches.items() if match}
        self.code, self.where = code, where
        self.faults: list[str] = []

    def run(self, namespace: dict[str, object]) -> list[str]:
        missing = set(self.expected)

        def record(*values: object, **more: Any) -> None:
            caller = sys._getframe(1)
            line = caller.f_lineno if caller.f_code.co_filename == self.where else 0
            if line in self.expected and not more:
                missing.discard(line)
                self.compare(self.expected[line], " ".join(map(str, values)))
            print(*values, **more)

        namespace["print"] = record
        exec(compile(self.code, self.where, "exec"), namespace)
        return self.faults + [f"prints nothing: {self.expected[i]!r}" for i in sorted(missing)]

    def compare(self, expected: str, text: str) -> None:
        pattern = ".*".join(map(re.escape, re.split(r"\s*[.]{3}\s*", expected)))
        if not re.fullmatch(pattern, text, re.DOTALL):
            self.faults.append(f"expected {expected!r}; it prints {text!r}")


def block_faults(page: Path, root: Path, without: list[str]) -> list[str]:
    """Runs or compares each block of a page, and prints it. A block that imports a package of
    `without` is left out, and so are those after it, which share its namespace."""
    faults = []
    left_out = False
    namespace: dict[str, object] = {"__name__": page.stem}
    text = page.read_text()
    for block in BLOCK.finditer(text):
        line = text[: block.start()].count("\n") + 1
        where = f"{page.relative_to(root)}:{line}"
        language, code = block["language"], block["code"].strip()
        if block["file"] is not None:
            source = region_of(root / block["file"], block["region"])
            if source is None:
                faults.append(f"{where}: {block['file']} has no region [{block['region']}]")
            elif code != source:
                faults.append(f"{where}: differs from {block['file']}#{block['region']}")
        elif language == "python" and not left_out:
            try:
                faults += [f"{where}: {fault}" for fault in Printed(code, where).run(namespace)]
            except ModuleNotFoundError as error:
                if error.name not in without:
                    faults.append(f"{where}: {error}")
                else:
                    left_out = True
                    print(f"-- left out: {where} and what follows, which needs {error.name}")
            except Exception as error:
                faults.append(f"{where}: {type(error).__name__}: {error}")
        elif language in WITHOUT_SOURCE or language == "python" or language.startswith("{"):
            continue  # {toctree} and others are directives of the site
        else:
            faults.append(f"{where}: a block of {language} without a source")
        print(f"{language:7} {where}")
    return faults


LINK = re.compile(
    r"(?:\[(?P<text>[^][]*))?\]\((?!https?:)(?P<path>[^)#\s]*)(?:#(?P<anchor>[^)\s]*))?\)"
)
# A picture leads to a file of the checkout, as links do.
PICTURE = re.compile(r'\b(?:src|srcset)="(?!https?:)(?P<path>[^"]+)"')
FENCED = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)


def anchors_of(page: Path) -> set[str]:
    """The anchors that GitHub generates for the headings of a page."""
    anchors: set[str] = set()
    for heading in re.findall(r"^#+ +(.*?) *$", FENCED.sub("", page.read_text()), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)  # a link is replaced by its text
        name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        anchor, number = name, 0
        while anchor in anchors:
            number += 1
            anchor = f"{name}-{number}"
        anchors.add(anchor)
    return anchors


def names_another_page(text: str, target: Path, folders: tuple[Path, ...]) -> bool:
    """Whether a text is the path of a page, and not that of the target from one of the folders."""
    if not re.fullmatch(r"[\w./-]+[.]md", text):
        return False
    return all((folder / text).resolve() != target.resolve() for folder in folders)


def link_faults(page: Path, root: Path) -> list[str]:
    faults = []
    prose = re.sub(r"`[^`]*`", "", FENCED.sub("", page.read_text()))
    for link in LINK.finditer(prose):
        target = page.parent / link["path"] if link["path"] else page
        anchor = link["anchor"]
        if not target.exists():
            faults.append(f"no file {link['path']}")
        elif anchor is not None and (target.suffix != ".md" or anchor not in anchors_of(target)):
            faults.append(f"no heading {link['path']}#{anchor}")
        elif names_another_page(link["text"] or "", target, (root, page.parent)):
            faults.append(f"the link [{link['text']}] leads to {link['path']}")
    faults += [f"no picture {each['path']}" for each in PICTURE.finditer(prose)
               if not (page.parent / each["path"]).is_file()]  # fmt: skip
    return [f"{page.relative_to(root)}: {fault}" for fault in faults]


CITED = re.compile(r"(?<!Python )spec(?:ification)? (?P<section>\d[.]\d)")
SOURCES = ("include", "python", "tests", "examples", "bench", "docs")
SUFFIXES = {".hpp", ".inl", ".ipp", ".cpp", ".h", ".c", ".py", ".md"}


def section_faults(root: Path) -> list[str]:
    protocol = (root / "docs" / "reference" / "protocol.md").read_text()
    sections = set(re.findall(r"^### (\d[.]\d)", protocol, re.MULTILINE))
    faults = []
    for folder in SOURCES:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in SUFFIXES and file.is_file():
                cited = {match["section"] for match in CITED.finditer(file.read_text())}
                where = file.relative_to(root)
                faults += [f"{where}: no section {each}" for each in sorted(cited - sections)]
    return faults


def errc_faults(root: Path) -> list[str]:
    """The differences between the enumerators of errc and the rows of docs/reference/errors.md."""
    header = re.sub(r"//[^\n]*", "", (root / "include" / "dlbridge" / "error.hpp").read_text())
    enumerators = re.search(r"enum class errc\b[^{]*\{([^}]*)\}", header)
    codes = re.findall(r"\w+", enumerators.group(1)) if enumerators else []
    page = (root / "docs" / "reference" / "errors.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    faults = [f"no row for errc {code}" for code in codes if code not in rows]
    faults += [f"the row {row} is no errc" for row in dict.fromkeys(rows) if row not in codes]
    faults += [f"{rows.count(row)} rows for {row}" for row in set(rows) if rows.count(row) > 1]
    if not codes:
        faults = ["error.hpp has no errc"]
    elif not faults and rows != codes:
        faults = ["the rows are not in the order of errc"]
    return [f"docs/reference/errors.md: {fault}" for fault in faults]


def all_faults(root: Path, without: list[str]) -> list[str]:
    pages = [root / "README.md", *(root / "python").glob("README.md")]
    pages += sorted((root / "docs").glob("**/*.md"))
    pages += sorted((root / "examples").glob("**/README.md"))
    run_here = [page for page in pages if page.relative_to(root).as_posix() not in NOTEBOOKS]
    faults = [fault for page in run_here for fault in block_faults(page, root, without)]
    pages += [root / name for name in LINKS_ONLY]
    faults += [fault for page in pages for fault in link_faults(page, root)]
    faults += section_faults(root) + errc_faults(root) + environment_faults(root)
    failed = {each for each in map(str, pages) for fault in faults
              if fault.startswith(f"{Path(each).relative_to(root)}:")}  # fmt: skip
    print(f"{len(pages) - len(failed)} passed, {len(failed)} failed")  # pages
    return faults


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--without", action="append", default=[], metavar="NAME")
    faults = all_faults(CHECKOUT, parser.parse_args().without)
    for fault in faults:
        print("FAILED", fault)
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
