# SPDX-License-Identifier: BSD-3-Clause
"""Predicts what each consumer does with an object, from its requests and its reactions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

from ... import abi
from ..cases import CASES, OTHER_MAJOR
from ..cases.case import (
    COPIES,
    CRASHES_IN_USE,
    CRASHES_ON_RELEASE,
    EXCEPTIONS,
    FAILS_LATER,
    MEMORY_ORDER,
    NARROWS,
    NO_EFFECT,
    OTHER_BUILD,
    SEND_ONLY,
    SIGNALS,
    TEXTS,
    UNKNOWN,
    WRITABLE,
    WRONG,
    Changed,
    Reactions,
    reaction_of,
)
from ..consumers import CONSUMERS, Consumer, Request, consumer_of
from ..reading.observation import Observation
from ..reading.protocols import Response

Outcome = Literal[
    "shares", "copies", "converts", "depends", "unknown", "wrong", "breaks", "refuses", "crashes"
]
WORST: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True)
class Verdict:
    """The prediction for one consumer."""

    consumer: str
    title: str
    version: str  # with which it was observed; its reactions are those of the installed one
    call: str
    outcome: Outcome
    text: str
    protocol: str = ""  # by which it imports the object
    met: tuple[str, ...] = ()  # the cases, by name, that determine the outcome
    installed: str = ""  # the version where the object was examined, if there is one

    @property
    def judged(self) -> str:
        """The version that the prediction is about."""
        return self.installed or self.version


@dataclass(frozen=True)
class _Prediction:
    outcome: Outcome
    text: str
    protocol: str = ""
    met: tuple[str, ...] = ()


def verdicts(observation: Observation) -> list[Verdict]:
    """Returns one verdict for each consumer: the installed version, or else the newest observed.

    Untested combinations are `unknown`.
    """
    result = []
    for name, newest in CONSUMERS.items():
        installed = observation.installed.get(name, "")
        version = installed or newest.versions[-1]
        row = consumer_of(name, version)
        prediction = _apply_lazy_flags(_predict(row, version, observation), observation)
        result.append(
            Verdict(
                name, row.title, row.observed(version), row.call, **vars(prediction),
                installed=installed,
            )
        )  # fmt: skip
    return result


def _predict(row: Consumer, version: str, observation: Observation) -> _Prediction:
    if observation.subject.is_capsule:
        return _import_capsule(row, version, observation.responses[0])
    refusal = _refuses(row.no_tensor, "it has no __dlpack__")
    for request in row.requests:
        response = observation.response(request.protocol)
        if response is None or response.outcome == "absent":
            continue
        if response.outcome == "skipped":
            return _Prediction("unknown", response.said)
        early = _refuses_early(row, request, observation)
        if early is not None:
            return early
        if response.outcome == "raised":
            text = f"{response.raised}: raised by {response.title}"
            refusal = _Prediction("refuses", text, response.name)
            if response.raised in request.continues_after:
                continue
            return refusal
        if response.capsule is not None and response.capsule not in request.accepts:
            return _refuses(request.error or "BufferError", _capsule_text(response, request))
        return _read(row, version, response)
    return refusal


def _apply_lazy_flags(prediction: _Prediction, observation: Observation) -> _Prediction:
    """PyTorch's lazy negation and conjugation are lost in every export."""
    for flag in ("negated", "conjugated"):
        if flag in observation.subject.marks and prediction.outcome in WORST[:3]:
            return replace(prediction, outcome="wrong", text=f"the values are not {flag}")
    return prediction


def _refuses_early(row: Consumer, request: Request, observation: Observation) -> _Prediction | None:
    """Returns the refusal of a consumer that happens before it calls __dlpack__."""
    device = observation.response("device")
    if request.protocol not in ("bare", "1.0", "1.3"):
        return None
    if row.needs_device and device is not None and device.outcome == "absent":
        return _refuses(row.needs_device, "it has no __dlpack_device__")
    if row.needs_device and device is not None and device.outcome == "raised":
        return _Prediction("refuses", f"{device.raised}: raised by __dlpack_device__()")
    if row.needs_stream and not observation.accepts("stream"):
        return _refuses("TypeError", "__dlpack__ does not accept stream=")
    return None


def _capsule_text(response: Response, request: Request) -> str:
    if response.capsule == abi.LEGACY:
        return "the capsule is legacy, which it does not support"
    if response.capsule == abi.VERSIONED and abi.LEGACY in request.accepts:
        return "the capsule is versioned, which it did not request"
    return f"the capsule is named {response.capsule!r}"


def _import_capsule(row: Consumer, version: str, response: Response) -> _Prediction:
    if not row.capsules:
        return _refuses(row.no_capsule, "it accepts producers, and no raw capsules")
    if response.capsule not in row.capsules:
        return _refuses(row.no_capsule, f"a capsule named {response.capsule!r}")
    return _read(row, version, response)


def _read(row: Consumer, version: str, response: Response) -> _Prediction:
    """Predicts how a version of a consumer reads the tensor."""
    if response.version is not None and response.version[0] != 1:
        text = f"version {response.version[0]}.{response.version[1]}"
        prediction = _of_reaction(reaction_of(OTHER_MAJOR, row.name, version), text)
        return replace(prediction, protocol=response.name, met=(OTHER_MAJOR_CASE,))
    x = response.description
    if x is None:
        return _Prediction("unknown", response.said, response.name)
    worst = _Prediction("copies", "always") if row.always_copies else _Prediction("shares", "")
    met, notes = [], []
    for case in CASES:
        reaction = reaction_of(case.reactions, row.name, version)
        if reaction == NO_EFFECT or not case.holds(x):
            continue
        met.append(case.name)
        prediction = _of_reaction(
            reaction, f"{case.why(x)}{_repair(case.reactions[row.name], reaction)}"
        )
        if prediction.outcome in ("refuses", "crashes"):
            # Consumers examine a tensor in the order of the cases, and stop here.
            return replace(prediction, protocol=response.name, met=(case.name,))
        if reaction in NOTES:
            notes.append(TEXTS[reaction])
        elif prediction.outcome == worst.outcome != "shares" and worst.text != "always":
            worst = replace(worst, text=f"{worst.text}; {prediction.text}")
        elif WORST.index(prediction.outcome) >= WORST.index(worst.outcome):
            worst = prediction
    if x.capsule == abi.LEGACY and row.legacy_note:
        notes.append(row.legacy_note)
    text = "; ".join(filter(None, [worst.text, *notes]))
    return _Prediction(worst.outcome, text, response.name, tuple(met))


OTHER_MAJOR_CASE = "other major"  # the name of the case to which OTHER_MAJOR belongs
NOTES = (WRITABLE, SEND_ONLY, MEMORY_ORDER)  # reactions that do not change the outcome
OUTCOMES: dict[str, Outcome] = {
    COPIES: "copies",
    NARROWS: "converts",
    WRONG: "wrong",
    FAILS_LATER: "breaks",
    CRASHES_IN_USE: "breaks",
    CRASHES_ON_RELEASE: "breaks",
    OTHER_BUILD: "depends",
    UNKNOWN: "unknown",
}


def _refuses(error: str, reason: str) -> _Prediction:
    return _Prediction("refuses", f"{error}: {reason}")


def _of_reaction(reaction: str, reason: str) -> _Prediction:
    if reaction in EXCEPTIONS:
        return _refuses(reaction, reason)
    if reaction in SIGNALS:
        return _Prediction("crashes", f"{reaction}: {reason}")
    if reaction in (COPIES, WRONG, FAILS_LATER, UNKNOWN):
        return _Prediction(OUTCOMES[reaction], reason)
    text = TEXTS.get(reaction, "").replace("accepts it, and ", "")
    return _Prediction(OUTCOMES.get(reaction, "shares"), f"{text}: {reason}" if text else "")


def affected(verdicts: Iterable[Verdict], case: str, reactions: Reactions) -> str:
    """Names the consumers that a case affects: "refused by NumPy, dpnp; ..."."""
    groups: dict[str, list[str]] = {}
    for verdict in verdicts:
        reaction = reaction_of(reactions, verdict.consumer, verdict.judged)
        if case not in verdict.met or reaction in (UNKNOWN, OTHER_BUILD):
            continue
        if reaction in EXCEPTIONS:
            groups.setdefault(REFUSED, []).append(verdict.title)
        elif reaction in SIGNALS:
            until = _until(reactions[verdict.consumer])
            groups.setdefault(CRASHES, []).append(f"{verdict.title}{until} ({reaction})")
        else:
            groups.setdefault(TEXTS[reaction], []).append(verdict.title)
    worst_first = sorted(groups, key=lambda text: -_SEVERITY.get(text, 1))
    return "; ".join(
        f"{text} {', '.join(groups[text])}"
        if text in (REFUSED, CRASHES)
        else f"{', '.join(groups[text])}: {text}"
        for text in worst_first
    )


def _repair(change: str | Changed, reaction: str) -> str:
    """Names the release that no longer crashes, where the reaction of a version is a crash."""
    if isinstance(change, str) or reaction not in SIGNALS:
        return ""
    return f"; fixed in {change.version}: upgrade to {change.version}"


def _until(reaction: str | Changed) -> str:
    return "" if isinstance(reaction, str) else f" before {reaction.version}"


REFUSED, CRASHES = "refused by", "crashes"
_SEVERITY = {
    CRASHES: 9,
    TEXTS[CRASHES_IN_USE]: 8,
    TEXTS[CRASHES_ON_RELEASE]: 8,
    TEXTS[WRONG]: 7,
    TEXTS[WRITABLE]: 6,
    TEXTS[FAILS_LATER]: 5,
    REFUSED: 4,
}
