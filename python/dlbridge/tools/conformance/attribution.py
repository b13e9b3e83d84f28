# SPDX-License-Identifier: BSD-3-Clause
"""Attributes a call that ended the process, or that never ended, to the rule that reports it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .journal import (
    AGAIN,
    EVERY_IMPORT,
    EVERY_REQUEST,
    EVERY_VIEW,
    ON_THREAD,
    RESULT,
    VIEW,
    Call,
    Ending,
)

# The rules that report a request or an import, by a word of it: the first one that it has.
OF_REQUEST = {
    AGAIN: "P-32",
    ON_THREAD: "P-31",
    "copy=True": "P-24",
    "copy=False": "P-23",
    "dl_device": "P-26",
    "stream": "P-28",
    "max_version": "P-05",
}
OF_IMPORT = {
    "copy=True": "S-14",
    "copy=False": "S-15",
    "device=": "S-23",
    "OldProducer": "C-01",
    "LegacyProducer": "C-03",
}
# Those that report requests of one array only, by a word of its name.
OF_ARRAY = {
    **{RESULT: "C-30", " after ": "P-38", "of size 0": "P-19", "of rank 0": "P-20"},
    **{VIEW: "P-38", "read-only": "P-22", "()": "P-20"},
}
MOST_HANGS = 3  # of views, after which no further view is tried


def rule_of(call: Call) -> str | None:
    """Returns the rule that reports that a call ended the process; None for no part of DLPack."""
    if call.kind in ("view", "factory"):
        return None
    if call.kind == "import":
        return _first(OF_IMPORT, call.text, "C-17")
    if call.kind == "request" and call.subject:
        return _of_array(call.subject)
    if call.kind == "request":
        none = "P-28" if "stream=None" in call.text else "P-48" if "=None" in call.text else "P-03"
        return _first(OF_REQUEST, " ".join(call.keywords), none)
    others = {"device": "P-02", "drop": "X-01", "used": "X-03", "free": "X-04", "source": "X-07"}
    return others[call.kind] if "result" not in call.text else "C-07"


def _of_array(subject: str) -> str:
    extents = subject[subject.rfind("(") :].strip("()").split(",")
    is_empty = "0" in [each.strip() for each in extents]
    return _first(OF_ARRAY, subject, "P-19" if is_empty else "P-16")


def _first(rules: dict[str, str], text: str, default: str) -> str:
    return next((rule for word, rule in rules.items() if word in text), default)


def is_summary(ending: Ending) -> bool:
    """Whether it is one of summaries(), and no call of its own."""
    return ending.call.text in (EVERY_REQUEST, EVERY_IMPORT)


def summaries(endings: Sequence[Ending]) -> Iterator[Ending]:
    """Yields endings of all calls of a kind, once enough of them have ended the process.

    These are all requests, or imports, after a legacy and a versioned one; and those of all views,
    after MOST_HANGS of them.
    """
    plain = {each.call.text: each.how for each in endings if not each.call.subject}
    versioned = [each for each in endings if each.call.keywords == ("max_version",)]
    if versioned and "__dlpack__()" in plain:
        yield Ending(Call("request", EVERY_REQUEST), plain["__dlpack__()"])
    if "from_dlpack(Producer())" in plain and "from_dlpack(OldProducer())" in plain:
        yield Ending(Call("import", EVERY_IMPORT), plain["from_dlpack(Producer())"])
    of_views = [each for each in endings if VIEW in each.call.subject and "hung" in each.how]
    if len(of_views) >= MOST_HANGS:
        yield Ending(Call("request", EVERY_REQUEST, subject=EVERY_VIEW), of_views[0].how)
