"""Shows that README.md and docs/ hold: their code runs, and what is referred to is there.

A Python block is run here, the blocks of one page in order and in one namespace, unless it says
where it comes from. Any other block that is code, and any text that can be compared, says so, in a
comment above it,

    <!-- from examples/plain_cpp/main.cpp#hook -->

and must equal that region of a file which is built and run elsewhere, between [hook] and [/hook].
Links lead to files of the checkout, and "spec 2.3" in any source to a section of the protocol page.
"""

import re
import sys
import textwrap
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(
    r"(?:<!-- from (?P<file>\S+)#(?P<region>\w+) -->\n)?```(?P<language>\w*)\n(?P<code>.*?)```",
    re.DOTALL,
)
# What may be shown without a source: commands for a shell, what a program prints, pictures.
SHOWN = {"", "sh", "console", "text", "mermaid"}


def region_of(file: str, region: str) -> str:
    text = (CHECKOUT / file).read_text()
    found = re.search(
        rf"^[^\n]*\[{region}\]\n(.*?)^[^\n]*\[/{region}\]", text, re.DOTALL | re.MULTILINE
    )
    if found is None:
        raise SystemExit(f"{file} has no region [{region}]")
    return textwrap.dedent(found.group(1)).strip()


def check(page: Path) -> list[str]:
    """The faults of one page; prints what was checked."""
    faults = []
    namespace: dict[str, object] = {"__name__": page.stem}
    for block in BLOCK.finditer(page.read_text()):
        line = page.read_text()[: block.start()].count("\n") + 1
        where = f"{page.relative_to(CHECKOUT)}:{line}"
        language, code = block["language"], block["code"].strip()
        if language == "python" and block["file"] is None:
            try:
                exec(compile(code, where, "exec"), namespace)
            except Exception as raised:
                faults.append(f"{where}: {type(raised).__name__}: {raised}")
        elif language in SHOWN and block["file"] is None:
            continue
        elif block["file"] is None:
            faults.append(f"{where}: a block of {language} that says not where it comes from")
        elif code != region_of(block["file"], block["region"]):
            faults.append(f"{where}: differs from {block['file']}#{block['region']}")
        print(f"{language:7} {where}")
    return faults


LINK = re.compile(r"\]\((?!https?:|#)(?P<path>[^)#\s]+)")
CITED = re.compile(r"spec(?:ification)? (?P<section>\d[.]\d)")
SOURCES = ("include", "python", "tests", "examples", "bench", "docs")
SUFFIXES = {".hpp", ".cpp", ".h", ".c", ".py", ".md"}


def broken_links(page: Path) -> list[str]:
    prose = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL)
    links = (found["path"] for found in LINK.finditer(prose))
    where = page.relative_to(CHECKOUT)
    return [f"{where}: no {link}" for link in links if not (page.parent / link).exists()]


def unknown_sections() -> list[str]:
    protocol = (CHECKOUT / "docs" / "protocol.md").read_text()
    known = set(re.findall(r"^### (\d[.]\d)", protocol, re.MULTILINE))
    faults = []
    for folder in SOURCES:
        for file in sorted((CHECKOUT / folder).rglob("*")):
            if file.suffix in SUFFIXES and file.is_file():
                cited = {found["section"] for found in CITED.finditer(file.read_text())}
                where = file.relative_to(CHECKOUT)
                faults += [f"{where}: no section {each}" for each in sorted(cited - known)]
    return faults


def main() -> int:
    pages = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("**/*.md"))]
    faults = [fault for page in pages for fault in [*check(page), *broken_links(page)]]
    faults += unknown_sections()
    for fault in faults:
        print("FAILED", fault)
    print(f"{len(pages)} pages, {len(faults)} faults")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
