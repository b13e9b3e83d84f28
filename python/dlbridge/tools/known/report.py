# SPDX-License-Identifier: BSD-3-Clause
"""A report of a defect in Markdown, to be filed with its project as it is."""

from __future__ import annotations

import platform
import re
import urllib.parse
from collections.abc import Iterator

from .. import core
from ..conformance.rules import RULES, STANDARDS, Text
from ..conformance.rules.model import ARRAY_API
from ..libraries import LIBRARIES
from .defect import HELPER, Defect, Kind, helper, run

# What the project is asked for, by the kind of the defect.
EXPECTED: dict[Kind, str] = {
    "unsound": "The standards permit it: the right values arrive, or an exception is raised.",
    "must": "A standard demands something else:",
    "should": "A standard recommends something else:",
    "hardening": "The input breaks a standard, so this is a request and no breach: an exception, "
    "and memory that is freed once, would be better.",
    "outside": "No standard is concerned, so this is a request and no breach.",
}
FREED_ONCE = "The standards permit it: memory is freed once, after its last use."
UNCLAIMED = (
    "{title} does not claim the array API, whose syntax and semantics DLPack recommends to it."
)

_DLPACK = "https://github.com/dmlc/dlpack/blob/v{since}/"
_ARRAY_API = "https://data-apis.org/array-api/{since}/"
# The page that has a sentence, by its place, or else by its document.
_PAGES = {
    "dlpack.h": f"{_DLPACK}include/dlpack/dlpack.h",
    "DLPack Python specification": f"{_DLPACK}docs/source/python_spec.rst",
    "CPython": "https://docs.python.org/{since}/c-api/typeobj.html",
    "__dlpack__": f"{_ARRAY_API}API_specification/generated/array_api.array.__dlpack__.html",
    "__dlpack_device__": (
        f"{_ARRAY_API}API_specification/generated/array_api.array.__dlpack_device__.html"
    ),
    "asarray": f"{_ARRAY_API}API_specification/generated/array_api.asarray.html",
    "from_dlpack": f"{_ARRAY_API}API_specification/generated/array_api.from_dlpack.html",
    "array object": f"{_ARRAY_API}API_specification/array_object.html",
    "copy keyword argument behavior": (f"{_ARRAY_API}design_topics/copies_views_and_mutation.html"),
    "Data interchange mechanisms": f"{_ARRAY_API}design_topics/data_interchange.html",
}


class NothingToReport(ValueError):
    """A report would be wrong or a duplicate: the message says why, and where the other one is."""


def quote(text: Text) -> str:
    """Quotes a sentence with its place and version.

    >>> quote(Text("dlpack.h", "0.2", "DLTensor.ndim", "Number of dimensions", "states"))
    'dlpack.h, `DLTensor.ndim`, since 0.2: “Number of dimensions”'
    """
    return f"{text.document}, `{text.place}`, since {text.since}: “{text.sentence}”"


def happens(row: Defect) -> str:
    """What the program shows."""
    ends = row.shows.startswith(("SIG", "exit"))
    return f"The program ends by {row.shows}." if ends else f"The program prints `{row.shows}`."


def expected(row: Defect) -> str:
    """What the standards say about the behaviour."""
    usual = EXPECTED.get(row.kind, "")
    if row.kind == "unsound" and row.outcome in ("freed", "leak"):
        usual = FREED_ONCE
    if row.is_unclaimed:
        usual = UNCLAIMED.format(title=LIBRARIES[row.library].title)
    return " ".join(filter(None, [row.remark, usual]))


def title(row: Defect) -> str:
    """Names the function and the fact."""
    fact = row.title or row.what.rstrip(".")
    if row.title or "_dlpack" in fact.partition(" ")[0]:
        return fact
    side, is_called = (*row.found_by, "")[0][:1], "from_dlpack(" in row.program
    function = "from_dlpack" if side == "C" or (side != "P" and is_called) else "__dlpack__"
    for subject, name in (("It", function), ("Its exchange table", "DLPackExchangeAPI")):
        if fact.startswith(f"{subject} "):
            return name + fact[len(subject) :]
    return f"{function}: {fact}"


def link(text: Text, claim: str | None = None) -> str:
    """Returns the address of a sentence in the release that first has it.

    One of the array API is in the version that the library claims. It is that of the page; where
    the page is HTML, browsers scroll to the words.

    >>> link(Text("dlpack.h", "1.0", "DLTensor.data", "Data may be `NULL` if so.", "states"))
    'https://github.com/dmlc/dlpack/blob/v1.0/include/dlpack/dlpack.h#:~:text=Data%20may%20be'
    """
    page = _PAGES.get(text.place.partition(",")[0]) or _PAGES[text.document]
    words = max(re.findall(r"\w+(?: \w+)*", text.sentence), key=len)
    # The pages of 2021.12 have other names; 2022.12 has all of its sentences.
    since = claim if claim is not None and text.document == ARRAY_API else text.since
    since = "2022.12" if since == "2021.12" else since
    return f"{page.format(since=since)}#:~:text={urllib.parse.quote(words)}"


def refusal(row: Defect) -> str:
    """Returns why a project does not want a report; "" where it does."""
    title = LIBRARIES[row.library].title
    if not row.is_fault:
        return f"no sentence of a standard forbids it. {row.remark}"
    if row.fixed_in:
        known = f" ({row.upstream})" if row.upstream else ""
        return f"{title} {row.fixed_in} fixed it{known}: upgrade."
    if row.upstream:
        return f"it is reported already. Comment there if you have more to say: {row.upstream}"
    if LIBRARIES[row.library].retired:
        return f"{LIBRARIES[row.library].retired}."
    return ""


def report_here(row: Defect) -> str:
    """Runs the program with the installed version, and returns the report.

    Raises NothingToReport as report() does, and where the program does not show the defect here;
    subprocess.TimeoutExpired where it does not end.
    """
    library = LIBRARIES[row.library]
    why = refusal(row)
    if not why and (not library.importable or library.version is None):
        why = f"a report states where its program was run: install {library.title} {row.last}."
    if not why:
        result = run(row.program)
        if not row.is_reproduced_by(result):
            why = f"{library.title} {library.version} does not show it here; its program: {result}."
    if why:
        raise NothingToReport(f"{row.id}: {why}")
    return report(row, _claim(row))


def _claim(row: Defect) -> str | None:
    """Returns the version of the array API that the installed library claims."""
    target = f"{__package__.rpartition('.')[0]}.conformance.target"
    asked = f"from {target} import claimed_standard, find\n"
    line = run(f"{asked}print(claimed_standard(find({row.library!r})))").line
    return line if line in STANDARDS else None


def report(row: Defect, claim: str | None = None) -> str:
    """Returns the report, with the versions that are installed here.

    `claim` is the version of the array API that the library claims. Raises NothingToReport for
    permitted behaviour, for a defect that a release has fixed or that is reported already, and for
    a library without further releases.
    """
    why = refusal(row)
    if why:
        raise NothingToReport(f"{row.id}: {why}")
    return "\n".join(_lines(row, claim))


def _search(row: Defect) -> str:
    """A comment for the reporter, which Markdown hides: what to do before."""
    library = LIBRARIES[row.library]
    issues = f"https://github.com/{library.repository}/issues"
    words = row.id.removeprefix(f"{row.library}-").replace("-", " ")
    queries = (f"is:issue dlpack {words}", "is:issue dlpack")
    addresses = (f"{issues}?q={urllib.parse.quote_plus(query)}" for query in queries)
    return (
        f"<!-- Before you file it, run it with the newest release of {library.title}, "
        f"and look for a duplicate: {' and '.join(addresses)} -->\n"
    )


def _versions(row: Defect) -> Iterator[str]:
    yield f"- System: {platform.platform()}"
    yield f"- Python: {platform.python_implementation()} {platform.python_version()}"
    for name in dict.fromkeys((row.library, "numpy")):
        if name == row.library or re.search(rf"\b{name}\b", row.program):
            yield f"- {LIBRARIES[name].title}: {LIBRARIES[name].version or row.last}"
    yield f"- Seen in: {LIBRARIES[row.library].title} {row.seen}"
    rules = [rule for rule in row.found_by if rule in RULES]
    checks = (
        f"; `{core.COMMAND} conformance {row.library} --only {rules[0]}` checks it" if rules else ""
    )
    yield f"- Found with: {core.COMMAND} {core.version()}{checks}\n"


def _result(row: Defect) -> str:
    """The change that the first rule of the defect asks for; "" where no rule finds it."""
    rules = (RULES[each] for each in row.found_by if each in RULES)
    return next((f"Expected: {rule.fix}" for rule in rules), "")


def _why_it_binds(row: Defect, claim: str | None) -> str:
    """Why the array API binds the library, where a sentence of it is cited."""
    if claim is None or all(text.document != ARRAY_API for text in row.texts):
        return ""
    name = LIBRARIES[row.library].title
    return f"{name} claims array API {claim}, by the `__array_api_version__` of its namespace."


def _lines(row: Defect, claim: str | None) -> Iterator[str]:
    yield f"# {title(row)}\n"
    yield _search(row)
    yield "## What happens\n"
    yield f"```python\n{row.program}\n```\n"
    is_said = row.what.rstrip(".") in title(row)
    yield f"{happens(row)}{'' if is_said else f' {row.what}'}\n"
    yield f"What it affects: {row.breaks}\n"
    said = filter(None, [_result(row), _why_it_binds(row, claim), expected(row)])
    yield "## What is expected\n\n{}\n".format("\n\n".join(said))
    for text in row.texts:
        yield f"> “{text.sentence}”\n>"
        place = f"{text.document}, {text.place}".replace("_", r"\_")
        yield f"> ([{place}, since {text.since}]({link(text, claim)}))\n"
    yield "## Versions\n"
    yield from _versions(row)
    if HELPER in row.program:
        yield f"<details><summary>{HELPER}.py, which the program imports</summary>\n"
        yield f"```python\n{helper().rstrip()}\n```\n"
        yield "</details>"
