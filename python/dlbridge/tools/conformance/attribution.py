# SPDX-License-Identifier: BSD-3-Clause
"""Attributes a call that ended the process, or that never ended, to the rule that reports it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .journal import (
    AGAIN,
    END,
    EVERY_IMPORT,
    EVERY_REQUEST,
    EVERY_VIEW,
    LEGACY,
    ON_THREAD,
    OWN,
    RANKED,
    RESULT,
    VERSIONED,
    VIEW,
    Call,
    Ending,
    is_ranked,
    traits,
)

# The rules that report a request or an import, by a word of it: the first one that it has.
OF_REQUEST = {
    AGAIN: "P-32",
    ON_THREAD: "P-31",
    "copy=True": "P-24",
    "copy=False": "P-23",
    "stream": "P-28",
    "=None": "P-48",
    "dl_device": "P-26",
    "max_version=(0": "P-34",
    "max_version": "P-05",
}
OF_IMPORT = {"copy=True": "S-14", "copy=False": "S-15", "device=": "S-23", OWN: "C-30"}
OF_STRUCT = {"OldProducer": "C-01", "LegacyProducer": "C-03", VERSIONED: "C-17", LEGACY: "C-03"}
# Those that report requests of one array only, by a word of its name.
OF_ARRAY = {
    **{RESULT: "C-30", " after ": "P-38", VIEW: "P-38", "size 0": "P-19", "rank 0": "P-20"},
    **{"read-only": "P-22", "()": "P-20"},
}
MOST_HANGS, MOST_CRASHES = 3, 6  # of views, after which no further view is exported


def rule_of(call: Call) -> str | None:
    """Returns the rule that reports that a call ended the process.

    None for what is no part of DLPack, and "" where it is the rule of the check alone.
    """
    if call.kind in ("view", "factory"):
        return None
    if call.kind == "import":
        words = " ".join(call.keywords)
        is_plain = set(call.keywords) <= OF_STRUCT.keys()
        of_traits = OF_STRUCT if is_plain else RANKED if is_ranked(call.keywords) else {}
        return _first({**OF_IMPORT, **of_traits}, words, "")
    if call.kind == "request" and traits(call.subject):
        return _of_array(call.subject)
    if call.kind == "request":
        return _first(OF_REQUEST, " ".join(call.keywords), "P-03")
    if call.text == END.text:
        return RANKED["deleter=False"] if "deleter=False" in call.keywords else "C-07"
    others = {"device": "P-02", "drop": "X-01", "used": "X-03", "free": "X-04", "source": "X-07"}
    return others[call.kind]


def is_of_few(call: Call) -> bool:
    """Whether few probes need a call: one with another array, or tensor, than a plain one."""
    if call.kind in ("view", "factory") or {ON_THREAD, "deleter=False"} & {*call.keywords}:
        return True
    if call.kind == "import":
        words = " ".join(call.keywords)
        return OWN in call.keywords or _first(RANKED, words, "") == rule_of(call) != ""
    return bool(traits(call.subject))


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
    after MOST_HANGS or MOST_CRASHES of them.
    """
    plain = {each.call.text: each.how for each in endings if not each.call.subject}
    versioned = [each for each in endings if each.call.keywords == ("max_version",)]
    if versioned and "__dlpack__()" in plain:
        yield Ending(Call("request", EVERY_REQUEST), plain["__dlpack__()"])
    if "from_dlpack(Producer())" in plain and "from_dlpack(OldProducer())" in plain:
        yield Ending(Call("import", EVERY_IMPORT), plain["from_dlpack(Producer())"])
    of_views = [each for each in endings if VIEW in each.call.subject and each.call.kind != "view"]
    hangs = sum("hung" in each.how for each in of_views)
    if hangs >= MOST_HANGS or len(of_views) >= MOST_CRASHES:
        yield Ending(Call("request", EVERY_REQUEST, subject=EVERY_VIEW), of_views[0].how)
