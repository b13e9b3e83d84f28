# SPDX-License-Identifier: BSD-3-Clause
"""Writes the survey's pages: `PYTHONPATH=docs python -m field.page docs/field docs/generated`.

docs/generated/field.md is a short overview; docs/generated/field/ has the pages with the details.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dlbridge.tools.known import DEFECTS, Defect
from dlbridge.tools.matrix import summary
from dlbridge.tools.versions import reaches
from field import exchange_pages, rule_pages
from field.data import Field, load
from field.defect_pages import anchor
from field.markdown import FOLDER, table, title

HEAD = """\
# Survey of DLPack support

The survey shows how well each library exports and imports DLPack, and which pairs of libraries
exchange arrays. The results come from running the libraries: `python3 noxfile.py field` creates
the environments, runs [`matrix`](../reference/tools/matrix.md),
[`conformance`](../howto/test_your_library.md) and the programs of the [known defects](defects.md)
in them, stores the results in [`docs/field`](../field) and generates this page. To examine the
versions that are installed, run those tools directly.

Details:

- [Rules](field/rules.md): what a library does where it violates a conformance rule, with
  the sentence of the standard
- [Features](field/features.md): the optional parts of the protocol that each supports
- [Arrays](field/arrays.md): the layouts and dtypes that each library exports and imports
- [Failing exchanges](field/failures.md): what fails between two libraries, by cause
- [Exchanges through dlbridge](field/through_dlbridge.md): which of those then work
"""

OBJECT = """\
## How to object

Every entry names the sentence that it follows from, and the version of the document that has it.
An entry is wrong if the text permits, recommends or does not mention the behaviour, if the program
does not show it, or if another library is at fault. To object, open an issue with the id of the
rule or of the defect, such as `C-09` or `torch-copy-not-marked`, and the sentence that permits the
behaviour. The rule or the entry is corrected or removed, and this page is generated again. If a
new release has changed, name the release: it is examined, and the page is generated again.
"""


def _libraries(field: Field) -> Iterator[str]:
    versions = summary.versions(field.matrix)
    where = {
        name: [e["name"] for e in field.matrix["environments"] if name in e["libraries"]]
        for name in field.matrix["libraries"]
    }
    yield "## Libraries\n"
    yield (
        f"Run on {field.matrix['date']} of commit `{field.matrix['commit']}`, "
        f"{field.matrix['platform']}, with dlbridge {field.matrix['dlbridge']}. Each pair ran in "
        "the first environment that has both. A library that claims no version of the array API is "
        "bound by DLPack's own texts alone.\n"
    )
    yield from table(
        ["Library", "Versions", "Environments", "Claims", "Exports", "Exchange table"],
        (
            [
                title(name),
                versions[name] or "not usable on this machine",
                ", ".join(where[name]),
                field.conformance.get(name, {}).get("standard") or "",
                _kinds(field, name),
                field.support.get(name, {}).get("exchange_table") or "",
            ]
            for name in field.matrix["libraries"]
        ),
    )


def _kinds(field: Field, name: str) -> str:
    if name in field.matrix.get("by_way_of", {}):
        return f"by way of {title(field.matrix['by_way_of'][name])}'s arrays: not counted here"
    support_row: dict[str, Any] = field.support.get(name, {})
    if "failed" in support_row:
        return str(support_row["failed"])
    kinds = [f"versioned {support_row['versioned']}"] if support_row.get("versioned") else []
    kinds += ["legacy"] if support_row.get("legacy") else []
    text = ", ".join(kinds)
    return f"{text}, through a function" if kinds and not support_row.get("protocol") else text


def _since_then(field: Field) -> Iterator[str]:
    """What newer releases than the examined ones are known to have repaired, kept or added."""
    runs = field.defects["runs"]
    rows = [
        [title(row.library), runs[row.id]["version"], f"[{row.id}]({anchor(row)})", then, reported]
        for row in DEFECTS.values()
        if row.id in runs
        for then in [_then(row, runs[row.id]["version"])]
        for reported in [f"[{row.reported}]({row.upstream})" if row.upstream else ""]
        if then
    ]
    yield "## Since then\n"
    yield (
        "What newer releases than the examined ones are known to have repaired, kept or added, by "
        "the versions in the [list of defects](defects.md). Other defects were not tried there.\n"
    )
    yield from table(["Library", "Examined", "Defect", "Since then", "Reported"], rows)


def _then(row: Defect, examined: str) -> str:
    if row.fixed_in:
        return "" if reaches(examined, row.fixed_in) else f"repaired in {row.fixed_in}"
    if not reaches(examined, row.since):
        return f"new in {row.since}"
    return "" if reaches(examined, row.last) else f"still in {row.last}"


def _overview(field: Field) -> Iterator[str]:
    yield HEAD
    yield from _libraries(field)
    yield from rule_pages.faults_section(field)
    yield from _since_then(field)
    yield from rule_pages.conformance_section(field)
    yield from exchange_pages.matrix_section(field)
    yield OBJECT


def _page(lines: Iterable[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"


def pages(field: Field) -> dict[str, str]:
    """Each page as Markdown, by its path in docs/generated/."""
    return {
        "field.md": _page(_overview(field)),
        f"{FOLDER}/arrays.md": _page(exchange_pages.arrays(field)),
        f"{FOLDER}/features.md": _page(rule_pages.features(field)),
        f"{FOLDER}/rules.md": _page(rule_pages.rules(field)),
        f"{FOLDER}/failures.md": _page(exchange_pages.failures(field)),
        f"{FOLDER}/through_dlbridge.md": _page(exchange_pages.through_dlbridge(field)),
    }


if __name__ == "__main__":
    data, folder = map(Path, sys.argv[1:])
    for name, content in pages(load(data)).items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
