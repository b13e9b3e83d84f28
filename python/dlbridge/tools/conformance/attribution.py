# SPDX-License-Identifier: BSD-3-Clause
"""Attributes a call that ended the process, or that never ended, to the rule that reports it."""

from __future__ import annotations

from dlbridge.tools.conformance.journal import EVERY_REQUEST, Call, Ending

# The rules that report a call, by a word of it; the first one that it has.
OF_REQUEST = {
    "copy=True": "P-24",
    "copy=False": "P-23",
    "dl_device=None": "P-48",
    "copy=None": "P-48",
    "dl_device": "P-26",
    "stream": "P-28",
    "max_version": "P-05",
}
OF_IMPORT = {
    "copy=True": "S-14",
    "copy=False": "S-15",
    "device": "S-23",
    "OldProducer": "C-01",
    "LegacyProducer": "C-03",
}
OF_SUBJECT = {
    " after ": "P-38",
    " of ": "P-38",
    "read-only": "P-22",
    "()": "P-20",
    "0": "P-19",
    "float32": "P-03",
}


def rule_of(call: Call) -> str | None:
    """Returns the rule that reports that a call ended the process; None for no part of DLPack."""
    if call.kind == "view":
        return None
    if call.kind == "device":
        return "P-02"
    if call.kind == "drop":
        return "X-01"
    if call.kind == "free":
        return "X-04" if call.text == "the deleter" else "C-07"
    if call.kind == "import":
        return _first(OF_IMPORT, call.text, "C-17")
    return _first(OF_REQUEST, call.text, _of_subject(call.subject))


def _of_subject(subject: str) -> str:
    """Returns the rule of a request that ends for one array only."""
    if not subject:
        return "P-03"
    extents = subject[subject.rfind("(") :].strip("()").split(",")
    if "0" in [each.strip() for each in extents] and " of " not in subject:
        return "P-19"
    return _first(OF_SUBJECT, subject.replace(",0", ""), "P-16")


def _first(rules: dict[str, str], text: str, default: str) -> str:
    return next((rule for word, rule in rules.items() if word in text), default)


def stands_for_all(endings: tuple[Ending, ...]) -> Ending | None:
    """Returns an ending of all requests, once a legacy and a versioned one have ended."""
    texts = {each.call.text: each for each in endings if each.call.kind == "request"}
    bare = texts.get("__dlpack__()")
    versioned = next((it for it in texts.values() if it.call.keywords == ("max_version",)), None)
    if bare is None or versioned is None:
        return None
    return Ending(Call("request", EVERY_REQUEST), bare.how)
