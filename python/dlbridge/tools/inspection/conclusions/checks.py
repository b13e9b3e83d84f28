# SPDX-License-Identifier: BSD-3-Clause
"""Checks of an object, and of its protocols together: one function for each oddity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Callable

from ... import abi, dtypes
from ..cases import OTHER_MAJOR
from ..consumers import LEGACY, VERSIONED, Consumer, consumer_of
from ..reading.exports import PROBES
from ..reading.observation import Observation
from ..reading.protocols import DLPACK, INTERFACES, SHARING, TITLES
from .differences import FACETS
from .oddity import Oddity
from .refusals import refused_array
from .verdicts import OTHER_MAJOR_CASE, Verdict, affected

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


# What the producer does -------------------------------------------------------------------------


def unreadable(x: Observation, verdicts: Verdicts) -> Iterator[Oddity]:
    for response in x.responses:
        if response.outcome != "unreadable" or response.name == "device":  # P-02 judges that
            continue
        what, who = f"Not readable: {response.said}.", ""
        version = response.version
        if response.name in DLPACK and version is not None and version[0] != 1:
            what = f"{response.said[0].upper()}{response.said[1:]}."
            who = affected(verdicts, OTHER_MAJOR_CASE, OTHER_MAJOR)
        yield Oddity("defect", what, who, (response.name,))


def raises(x: Observation, verdicts: Verdicts) -> Iterator[Oddity]:
    device = x.response("device")
    if device is not None and device.outcome == "raised":
        yield Oddity(
            "defect",
            f"__dlpack_device__ raises {device.said}",
            f"{_who(verdicts, _needs_device)} call it first",
            ("device",),
        )
    bare = x.response("bare")
    if bare is not None and bare.outcome == "raised" and bare.raised == "TypeError":
        yield Oddity(
            "defect",
            "__dlpack__() raises TypeError, which consumers interpret as an old producer.",
            "they call again with fewer keywords, and drop copy=False or a stream",
            ("bare",),
        )


def no_device(x: Observation, verdicts: Verdicts) -> Iterator[Oddity]:
    device = x.response("device")
    if device is None:
        return
    if device.outcome == "absent" and x.described(("bare", "1.0", "1.3")):
        who = f"refused by {_who(verdicts, _needs_device)}"
        what = "It has __dlpack__, but no __dlpack_device__."
        yield Oddity("defect", what, who, rule="P-01")


def used_capsule(x: Observation, verdicts: Verdicts) -> Iterator[Oddity]:
    capsule = x.response("capsule")
    if capsule is not None and capsule.capsule in abi.USED.values():
        yield Oddity("defect", "The capsule is used: a consumer owns its tensor.", "refused by all")


def lazy_operation(x: Observation, verdicts: Verdicts) -> Iterator[Oddity]:
    names = tuple(x.described(("bare", "1.0", "1.3", "give", "lend")))
    calls = {"bare", "1.0", "1.3"} & set(names)
    who = "every consumer reads" if calls else "tvm-ffi and other users of the table read"
    for flag, remedy in (("negated", "resolve_neg()"), ("conjugated", "resolve_conj()")):
        if flag in x.subject.marks and names:
            yield Oddity(
                "defect",
                f"PyTorch marks the values as lazily {flag}, and exports the memory without that.",
                f"{who} other values: call {remedy} first",
                names,
            )


def table_exports_refused(x: Observation, verdicts: Verdicts) -> Iterator[Oddity]:
    bare, versioned = x.response("bare"), x.response("1.0")
    is_refused = bare is not None and versioned is not None and bare.raised and versioned.raised
    names = tuple(x.described(("give", "lend")))
    if is_refused and names and versioned is not None:
        yield Oddity(
            "risk",
            f"__dlpack__ refuses it ({versioned.said}), but the exchange table exports it.",
            "tvm-ffi and other users of the table accept it",
            names,
        )


def vectors(x: Observation, verdicts: Verdicts) -> Iterator[Oddity]:
    """Vectors as elements are further dimensions of the tensor."""
    tensor, own = x.description("1.0", "bare"), x.subject.own_shape
    if tensor is None or not own or tensor.shape is None or len(own) >= len(tensor.shape):
        return
    if own == tensor.shape[: len(own)]:
        what = f"The object has the shape {list(own)}, the tensor {list(tensor.shape)}."
        yield Oddity("risk", what, "every consumer reads the second")


def legacy_only(x: Observation, verdicts: Verdicts) -> Iterator[Oddity]:
    versioned, bare = x.response("1.0"), x.response("bare")
    if versioned is None or bare is None:
        return
    if versioned.raised == "TypeError" and bare.description is not None:
        yield Oddity(
            "risk",
            "__dlpack__ does not accept max_version, which was added in 2024.",
            f"refused by {_who(verdicts, _needs_max_version)}; others call again without it",
            ("1.0",),
            rule="P-05",
        )
    elif versioned.capsule == abi.LEGACY:
        yield Oddity(
            "risk",
            "It exports a legacy capsule also for max_version: without version and read-only flag.",
            f"refused by {_who(verdicts, _refuses_legacy)}; NumPy's result is read-only",
            ("1.0",),
            rule="P-05",
        )


def refuses_legacy(x: Observation, verdicts: Verdicts) -> Iterator[Oddity]:
    bare = x.response("bare")
    if bare is None or bare.raised in ("", "TypeError") or x.description("1.0") is None:
        return
    consumers = [v.title for v in verdicts if v.outcome == "refuses" and v.protocol == "bare"]
    yield Oddity(
        "risk",
        "It exports no legacy capsule, only a versioned one.",
        f"refused by consumers without max_version: {', '.join(consumers)}",
        ("bare",),
    )


def copies_on_export(x: Observation, verdicts: Verdicts) -> Iterator[Oddity]:
    addresses = {
        each.first
        for each in x.described(("1.0", "bare", "give", "buffer", "array")).values()
        if each.layout and each.layout.size
    }
    if len(addresses) > 1:
        yield Oddity(
            "risk",
            "The protocols return different addresses: some export is a copy.",
            "writing by one protocol is not visible by another",
        )


def on_instance(x: Observation, verdicts: Verdicts) -> Iterator[Oddity]:
    if x.subject.on_instance:
        yield Oddity(
            "risk",
            f"Only the instance has {' and '.join(x.subject.on_instance)}, not its type.",
            "nanobind, MLX and NumPy 1.23 look them up on the type",
        )


def unknown_keyword(x: Observation, verdicts: Verdicts) -> Iterator[Oddity]:
    if x.accepts(PROBES[-1]):
        what = "__dlpack__ accepts unknown keywords."
        yield Oddity("note", what, "a misspelt copy= has no effect and no error", rule="P-08")


# The object itself ------------------------------------------------------------------------------


def no_tensor(x: Observation, verdicts: Verdicts) -> Iterator[Oddity]:
    if x.tensor is not None or any(each.outcome == "unreadable" for each in x.responses):
        return
    refusals = [each for each in x.responses if each.outcome == "raised" and each.name != "device"]
    if refusals:
        what = f"No protocol gives a tensor: {refusals[0].title} raises {refusals[0].said}"
        yield Oddity("risk", what, "refused by all", tuple(each.name for each in refusals))
    elif x.subject.is_class:
        yield Oddity(
            "defect",
            f"It is the class {x.subject.type}, and no array.",
            "refused by all",
            repair=f"pass an array that it creates, as in {x.title or x.subject.type}(...)",
        )
    elif not any(each.outcome == "skipped" for each in x.responses):
        names = "__dlpack__, exchange table, buffer protocol and array interface"
        yield Oddity(
            "risk" if x.subject.as_tensor else "defect",
            f"It is no tensor: {x.subject.type} has none of {names}.",
            "refused by all",
            repair=x.subject.as_tensor or "pass an array, a tensor, a buffer or a capsule",
        )


def no_dlpack(x: Observation, verdicts: Verdicts) -> Iterator[Oddity]:
    """Other protocols describe it, from which as_tensor makes an object with __dlpack__."""
    by = x.tensor and next(each for each in x.responses if each.description is not None)
    if (
        by
        and by.name in ("buffer", *INTERFACES)
        and not (x.subject.on_type + x.subject.on_instance)
    ):
        yield Oddity(
            "note",
            f"{x.subject.type} has no __dlpack__.",
            "refused by consumers of DLPack alone",
            repair="pass dlbridge.as_tensor(x)",
        )


def interfaces_disagree(x: Observation, verdicts: Verdicts) -> Iterator[Oddity]:
    """The buffer protocol and the array interfaces describe the same object."""
    exports = x.described(SHARING)
    if not exports:
        return
    name, export = next(iter(exports.items()))
    for other_name, other in x.described(("buffer", *INTERFACES)).items():
        for facet in ("dtype", "shape", "strides"):
            read, text = FACETS[facet]
            values = read(export), read(other)
            if None in values or values[0] == values[1]:
                continue
            if facet == "dtype" and other.dtype == (dtypes.BOOL, 8, 1):
                continue  # P-17 judges bool that is exported as integers
            if facet == "strides" and (export.shape != other.shape or export.first != other.first):
                continue
            yield Oddity(
                "defect",
                f"{TITLES[name]} gives {text(export)}, the object's {TITLES[other_name]} "
                f"{text(other)}.",
                "consumers of one of them read other values",
                repair="fill both descriptions from the same fields",
                rule="S-04",
            )
            break


def immutable(x: Observation, verdicts: Verdicts) -> Iterator[Oddity]:
    """The library promises never to change the array, whatever its export says."""
    if not x.subject.immutable:
        return
    unmarked = tuple(name for name, each in x.described(SHARING).items() if not each.read_only)
    is_protected = x.subject.by_dlbridge == "read-only"
    treated = f"; dlbridge treats it as {x.subject.by_dlbridge}" if x.subject.by_dlbridge else ""
    yield Oddity(
        "risk" if unmarked else "note",
        f"It is immutable: {x.subject.immutable} never changes its arrays{treated}.",
        "consumers of exports without the read-only flag may write to it" if unmarked else "",
        unmarked,
        "" if is_protected or not unmarked else "pass dlbridge.from_dlpack(x, readonly=True)",
    )


Check = Callable[[Observation, Verdicts], Iterator[Oddity]]
OF_PRODUCER: tuple[Check, ...] = (
    unreadable, raises, no_device, used_capsule, lazy_operation, table_exports_refused, vectors,
    legacy_only, refuses_legacy, copies_on_export, on_instance, unknown_keyword,
)  # fmt: skip
OF_OBJECT: tuple[Check, ...] = (
    no_tensor, no_dlpack, interfaces_disagree, immutable, lambda x, verdicts: refused_array(x),
)  # fmt: skip
