# SPDX-License-Identifier: BSD-3-Clause
"""Checks of a producer that compare several protocols: one function for each oddity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Callable

from ... import abi
from ..cases import OTHER_MAJOR
from ..cases.case import Level
from ..consumers import LEGACY, VERSIONED, Consumer, consumer_of
from ..reading.exports import PROBES
from ..reading.observation import Observation
from ..reading.protocols import DLPACK, Response
from .verdicts import OTHER_MAJOR_CASE, Verdict, affected

# The level, the sentence, the affected consumers, and the protocols by which it shows.
Findings = Iterator[tuple[Level, str, str, tuple[str, ...]]]
Verdicts = Sequence[Verdict]


def _who(verdicts: Verdicts, holds: Callable[[Consumer], bool]) -> str:
    """Names the consumers for which something holds, in the versions that are judged."""
    return ", ".join(v.title for v in verdicts if holds(consumer_of(v.consumer, v.judged)))


def _needs_device(row: Consumer) -> bool:
    return bool(row.needs_device)


def effect_of_versioned(verdicts: Verdicts) -> str:
    """Returns the effect of a versioned capsule without max_version, which P-34 judges."""
    return f"refused by {_who(verdicts, _requests_legacy)}"


def _requests_legacy(row: Consumer) -> bool:
    """Whether all its requests are bare, and it accepts nothing but a legacy capsule."""
    bare = [each for each in row.requests if each.protocol == "bare"]
    return any(each.accepts == LEGACY for each in bare) and all(
        each.protocol in ("bare", "give") for each in row.requests
    )


def _needs_max_version(row: Consumer) -> bool:
    """Whether it calls with max_version, and does not call again without it."""
    return all(each.protocol not in ("bare", "buffer") for each in row.requests)


def _refuses_legacy(row: Consumer) -> bool:
    """Whether it requests a versioned capsule, and refuses another one."""
    return any(each.accepts == VERSIONED for each in row.requests)


def _described(x: Observation, *names: str) -> list[Response]:
    return [each for each in x.responses if each.name in names and each.description is not None]


def unreadable(x: Observation, verdicts: Verdicts) -> Findings:
    for response in x.responses:
        if response.outcome != "unreadable" or response.name == "device":  # P-02 judges that
            continue
        version = response.version
        if response.name in DLPACK and version is not None and version[0] != 1:
            yield (
                "defect",
                f"{response.said[0].upper()}{response.said[1:]}.",
                affected(verdicts, OTHER_MAJOR_CASE, OTHER_MAJOR),
                (response.name,),
            )
        else:
            yield "defect", f"Not readable: {response.said}.", "", (response.name,)


def raises(x: Observation, verdicts: Verdicts) -> Findings:
    device = x.response("device")
    if device is not None and device.outcome == "raised":
        yield (
            "defect",
            f"__dlpack_device__ raises {device.said}",
            f"{_who(verdicts, _needs_device)} call it first",
            ("device",),
        )
    bare = x.response("bare")
    if bare is not None and bare.outcome == "raised" and bare.raised == "TypeError":
        yield (
            "defect",
            "__dlpack__() raises TypeError, which consumers interpret as an old producer.",
            "they call again with fewer keywords, and drop copy=False or a stream",
            ("bare",),
        )


def no_device(x: Observation, verdicts: Verdicts) -> Findings:
    device = x.response("device")
    if device is None:
        return
    if device.outcome == "absent" and _described(x, "bare", "1.0", "1.3"):
        who = f"refused by {_who(verdicts, _needs_device)}"
        yield "defect", "It has __dlpack__, but no __dlpack_device__.", who, ()


def on_instance(x: Observation, verdicts: Verdicts) -> Findings:
    if x.subject.on_instance:
        yield (
            "risk",
            f"Only the instance has {' and '.join(x.subject.on_instance)}, not its type.",
            "nanobind, MLX and NumPy 1.23 look them up on the type",
            (),
        )


def legacy_only(x: Observation, verdicts: Verdicts) -> Findings:
    versioned, bare = x.response("1.0"), x.response("bare")
    if versioned is None or bare is None:
        return
    if versioned.raised == "TypeError" and bare.description is not None:
        yield (
            "risk",
            "__dlpack__ does not accept max_version, which was added in 2024.",
            f"refused by {_who(verdicts, _needs_max_version)}; others call again without it",
            ("1.0",),
        )
    elif versioned.capsule == abi.LEGACY:
        yield (
            "risk",
            "It exports a legacy capsule also for max_version: without version and read-only flag.",
            f"refused by {_who(verdicts, _refuses_legacy)}; NumPy's result is read-only",
            ("1.0",),
        )


def used_capsule(x: Observation, verdicts: Verdicts) -> Findings:
    for response in x.responses:
        if response.name == "capsule" and response.capsule in abi.USED.values():
            yield "defect", "The capsule is used: a consumer owns its tensor.", "refused by all", ()


def unknown_keyword(x: Observation, verdicts: Verdicts) -> Findings:
    if x.accepts(PROBES[-1]):
        yield (
            "note",
            "__dlpack__ accepts unknown keywords.",
            "a misspelt copy= has no effect and no error",
            (),
        )


def refuses_legacy(x: Observation, verdicts: Verdicts) -> Findings:
    bare = x.response("bare")
    if bare is None or not bare.raised or bare.raised == "TypeError" or not _described(x, "1.0"):
        return
    consumers = [v.title for v in verdicts if v.outcome == "refuses" and v.protocol == "bare"]
    yield (
        "risk",
        "It exports no legacy capsule, only a versioned one.",
        f"refused by consumers without max_version: {', '.join(consumers)}",
        ("bare",),
    )


def copies_on_export(x: Observation, verdicts: Verdicts) -> Findings:
    addresses = {
        each.description.first
        for each in _described(x, "1.0", "bare", "give", "buffer", "array")
        if each.description and each.description.layout and each.description.layout.size
    }
    if len(addresses) > 1:
        yield (
            "risk",
            "The protocols return different addresses: some export is a copy.",
            "writing by one protocol is not visible by another",
            (),
        )


def lazy_operation(x: Observation, verdicts: Verdicts) -> Findings:
    names = tuple(each.name for each in _described(x, "bare", "1.0", "1.3", "give", "lend"))
    calls = {"bare", "1.0", "1.3"} & set(names)
    who = "every consumer reads" if calls else "tvm-ffi and other users of the table read"
    for flag, remedy in (("negated", "resolve_neg()"), ("conjugated", "resolve_conj()")):
        if flag in x.subject.marks and names:
            yield (
                "defect",
                f"PyTorch marks the values as lazily {flag}, and exports the memory without that.",
                f"{who} other values: call {remedy} first",
                names,
            )


def table_exports_refused(x: Observation, verdicts: Verdicts) -> Findings:
    bare, versioned = x.response("bare"), x.response("1.0")
    is_refused = bare is not None and versioned is not None and bare.raised and versioned.raised
    names = tuple(each.name for each in _described(x, "give", "lend"))
    if is_refused and names and versioned is not None:
        yield (
            "risk",
            f"__dlpack__ refuses it ({versioned.said}), but the exchange table exports it.",
            "tvm-ffi and other users of the table accept it",
            names,
        )


def vectors(x: Observation, verdicts: Verdicts) -> Findings:
    """Vectors as elements are further dimensions of the tensor."""
    tensor, own = x.description("1.0", "bare"), x.subject.own_shape
    if tensor is None or not own or tensor.shape is None or len(own) >= len(tensor.shape):
        return
    if own == tensor.shape[: len(own)]:
        yield (
            "risk",
            f"The object has the shape {list(own)}, the tensor {list(tensor.shape)}.",
            "every consumer reads the second",
            (),
        )


# The rule that each check belongs to; "": none of conformance.
CHECKS: tuple[tuple[Callable[[Observation, Verdicts], Findings], str], ...] = (
    (unreadable, ""), (raises, ""), (no_device, "P-01"), (used_capsule, ""), (lazy_operation, ""),
    (table_exports_refused, ""), (vectors, ""), (legacy_only, "P-05"), (refuses_legacy, ""),
    (copies_on_export, ""), (on_instance, ""), (unknown_keyword, "P-08"),
)  # fmt: skip
