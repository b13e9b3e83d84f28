# SPDX-License-Identifier: BSD-3-Clause
"""The probes of negotiation: what consumers ask for, and which structs they accept."""

from __future__ import annotations

from typing import Any

from ... import abi, devices
from ..helpers import samples
from ..helpers.consumption import (
    LEGACY,
    Cases,
    ConsumerCall,
    asks_for_versioned,
    each_import,
    function_with_keywords,
    import_tensor,
    kinds,
    negotiates,
    short,
    spelled,
    summed_up,
    support,
    takes_capsules,
    takes_versioned,
    with_its_device,
)
from ..helpers.expectations import NOWHERE, accepted, wrong_values
from ..helpers.exports import reported_device
from ..helpers.producers import (
    VERSION,
    CopyingProducer,
    FixedProducer,
    LegacyProducer,
    OldProducer,
    Producer,
    version_for,
)
from ..helpers.results import CannotRead, shares_memory
from ..helpers.trials import how_it_ends, survivors
from ..outcomes import Broken, Skip, name_error
from ..registry import probe
from ..target import NO_CONSUMER, Target

CUDA = (devices.CUDA, 0)
NEW_MINOR, UNKNOWN_FLAG = 99, 1 << 40
LEGACY_ONLY = "it asks for legacy capsules only"


def _asks_for_versioned(target: Target) -> None:
    negotiates(target)
    if not asks_for_versioned(target):
        raise Skip(LEGACY_ONLY)


# C-01, C-02, C-03 and C-17: the request and the answer -----------------------------------------


@probe("C-01")
def takes_legacy_capsules(target: Target) -> None:
    kinds(target)
    call = ConsumerCall(target, OldProducer())
    if call.refusal is not None:
        what = "capsule" if takes_capsules(target) else "capsule of a producer of 2021.12"
        raise Broken(f"a legacy {what} is refused: {call.error_text}")


@probe("C-02")
def sends_max_version_first(target: Target) -> str:
    negotiates(target)
    requests = import_tensor(target).producer.requests
    if not requests:
        raise Skip("it called __dlpack__ of no producer")
    version = requests[0].get("max_version")
    if version is None:
        raise Broken(f"the first call was __dlpack__({spelled(requests[0])})")
    if not (isinstance(version, tuple) and len(version) == 2 and version[0] >= 1):
        raise Broken(f"max_version was {version!r}; expected a pair (major, minor) from (1, 0) on")
    return f"__dlpack__({spelled(requests[0])})"


@probe("C-03")
def takes_legacy_when_it_asked_for_versioned(target: Target) -> None:
    _asks_for_versioned(target)
    kinds(target)
    call = ConsumerCall(target, LegacyProducer())
    if call.refusal is not None:
        raise Broken(f"a legacy capsule for max_version is refused: {call.error_text}")


@probe("C-17")
def takes_versioned_when_it_asked_for_it(target: Target) -> None:
    _asks_for_versioned(target)
    kinds(target)
    call = import_tensor(target)
    if call.refusal is not None:
        raise Broken(
            f"__dlpack__({spelled(call.producer.requests[0])}) returned a versioned capsule, and"
            f" it is refused: {call.error_text}"
        )


# C-04 and C-05: versions and flags -------------------------------------------------------------


def _refuses_major_2(target: Target, *, raw: bool = False, **fields: Any) -> str:
    call = ConsumerCall(target, Producer(version=(2, 0), **fields), raw=raw)
    error_text, was_accepted = call.error_text, call.refusal is None
    tensors, calls = len(call.producer.tensors), call.release()
    if was_accepted:
        where = "in a raw capsule " if raw else ""
        raise Broken(f"a tensor of version 2.0 {where}was accepted, and read as major version 1")
    if calls != tensors:
        raise Broken(f"refused, {error_text}; and its deleter was called {calls} times")
    return f"refused: {error_text}"


@probe("C-04")
def refuses_major_2(target: Target) -> str:
    takes_versioned(target)
    return _refuses_major_2(target)


@probe("C-04", hostile=True)
def reads_nothing_of_major_2(target: Target) -> str:
    takes_versioned(target)
    return _refuses_major_2(target, shape=None, strides=None, ndim=3, pointer=NOWHERE)


@probe("C-04", hostile=True)
def looks_at_no_ndim_of_major_2(target: Target) -> str:
    takes_versioned(target)
    return _refuses_major_2(target, ndim=-5, dtype=(200, 0, 0), device=(77, 5))


@probe("C-04", hostile=True)
def refuses_major_2_without_its_producer(target: Target) -> str:
    """Some consumers check the requested version and not that of the capsule."""
    if takes_capsules(target):
        return "it takes legacy capsules"
    call = ConsumerCall(target, Producer(version=VERSION), raw=True)
    if call.refusal is not None:
        return f"raw versioned capsules are refused: {call.error_text}"
    return _refuses_major_2(target, raw=True)


@probe("C-05")
def takes_newer_versions_and_copies(target: Target) -> str:
    takes_versioned(target)
    return accepted(
        target,
        {
            f"version (1, {NEW_MINOR})": {"version": (1, NEW_MINOR)},
            "IS_COPIED": {"version": VERSION, "flags": abi.IS_COPIED},
            "both": {"version": (1, NEW_MINOR), "flags": abi.IS_COPIED},
        },
    )


@probe("C-35")
def takes_unknown_flags(target: Target) -> str:
    takes_versioned(target)
    flags = {"an unknown flag": {"version": (1, NEW_MINOR), "flags": UNKNOWN_FLAG}}
    return accepted(target, flags)


# C-06: objects that are no fresh capsule --------------------------------------------------------


def _refuses(target: Target, argument: Any) -> str | None:
    """Returns how the consumer accepted it; None where it is refused."""
    try:
        result = target.consume(argument if takes_capsules(target) else FixedProducer(argument))
    except SystemError as unclean:
        return f"{name_error(unclean)}"
    except Exception:
        return None
    return f"the result is of type {type(result).__name__}"


@probe("C-06", hostile=True)
def refuses_capsules_of_other_names(target: Target) -> str:
    for kind in kinds(target):
        fresh = abi.LEGACY if kind == LEGACY else abi.VERSIONED
        for name in (*abi.USED.values(), None, "dltensor2", "DLTensor", f"{fresh}_", ""):
            producer = Producer()
            capsule = producer.export(None if kind == LEGACY else VERSION)
            abi.rename(capsule, name)
            how = _refuses(target, capsule)
            producer.capsules.clear()
            del capsule
            if how is not None:
                raise Broken(f"a {kind} capsule named {name!r} was accepted: {how}")
            if producer.deleter_calls:
                raise Broken(f"the deleter of a {kind} capsule named {name!r} was called")
    return "refused"


@probe("C-06", hostile=True)
def refuses_what_is_no_capsule(target: Target) -> str:
    for other in (None, 42, "dltensor", object(), abi):
        how = _refuses(target, other)
        if how is not None:
            raise Broken(f"__dlpack__() returned {short(repr(other))}, which was accepted: {how}")
    return "refused"


# C-18 and C-19: errors, and copy=False ---------------------------------------------------------


class _Particular(Producer):
    """Raises an error for every call with these keywords, and returns a capsule otherwise."""

    def __init__(self, error: Exception, words: tuple[str, ...]) -> None:
        super().__init__()
        self.error, self.words = error, words

    def __dlpack__(self, **keywords: Any) -> Any:
        self.requests.append(keywords)
        if any(keywords.get(word) is not None for word in self.words):
            raise self.error
        return self.export(version_for(keywords))


def _errors() -> tuple[Exception, ...]:
    return (BufferError("this cannot be exported"), ValueError("bad"), RuntimeError("no memory"))


@probe("C-18")
def an_error_is_final(target: Target) -> str:
    """A second call with fewer keywords, if it succeeds, would drop a part of the request."""
    negotiates(target)
    asked: list[tuple[tuple[str, ...], dict[str, Any]]] = [(("max_version",), {})]
    try:
        function_with_keywords(target)
        asked += [(("copy",), {"copy": False}), (("copy",), {"copy": True})]
        asked += [(("dl_device", "max_version"), {"device": "cpu"})]
    except Skip:  # it has no keywords
        pass
    refusals = 0
    for words, keywords in asked:
        for error in _errors():
            call = ConsumerCall(target, _Particular(error, words), **keywords)
            sent = call.producer.requests
            if call.refusal is not None:
                refusals += 1
            elif keywords.get("copy") is True and not shares_memory(call):
                refusals += 1  # it copied itself, as it was asked to
            elif len(sent) > 1 and any(
                set(before) - set(sent[-1]) and _has(before, words) for before in sent[:-1]
            ):
                raise Broken(
                    f"after {name_error(error)} from __dlpack__({spelled(sent[0])}) it called"
                    f" __dlpack__({spelled(sent[-1])}) and returned a result"
                )
    return f"{refusals} of {len(asked) * len(_errors())} errors dropped nothing of the request"


def _has(keywords: dict[str, Any], words: tuple[str, ...]) -> bool:
    return any(keywords.get(word) is not None for word in words)


def _accepts_copy(target: Target) -> None:
    negotiates(target)
    function_with_keywords(target)
    call = ConsumerCall(target, Producer(), copy=False)
    if isinstance(call.refusal, TypeError):
        raise Skip(f"it has no keyword copy: {call.error_text}")


@probe("C-19")
def copy_false_reaches_the_producer(target: Target) -> str:
    """A producer that copies unless copy=False forbids it: the result must not be the copy."""
    _accepts_copy(target)
    refused = []
    for keywords in with_its_device(target, {"copy": False}):
        call = ConsumerCall(target, CopyingProducer(), **keywords)
        if call.refusal is None:
            sent = call.producer.requests[-1]
            raise Broken(
                f"{spelled(keywords)} returned the copy of a producer that copies unless copy=False"
                f" forbids it: the call was __dlpack__({spelled(sent)})"
            )
        refused.append(call.error_text)
    return f"refused: {refused[0]}"


# What tempts a consumer to copy, by the layout, the address, the dtype and the flags.
_LAYOUTS: Cases = {
    "a plain tensor": {},
    "transposed": {"strides": (1, 2)},
    "every second": {"strides": (6, 2)},
    "repeated": {"strides": (0, 1)},
    "backwards": {"strides": (-3, -1)},
    "no dimensions": {"shape": (), "strides": ()},
    "a vector": {"shape": (100,), "strides": (1,)},
    "a vector with gaps": {"shape": (3,), "strides": (2,)},
    "four dimensions": {"shape": (2, 1, 3, 2), "strides": (1, 9, 2, 6)},
    "overlapping": {"shape": (4, 3), "strides": (1, 1)},
    "a byte_offset": {"byte_offset": 16},
}
_MARKED: Cases = {
    "READ_ONLY": {"version": VERSION, "flags": abi.READ_ONLY},
    "an unknown flag": {"version": (1, NEW_MINOR), "flags": UNKNOWN_FLAG},
    f"version (1, {NEW_MINOR})": {"version": (1, NEW_MINOR)},
}
_TO_COPY: Cases = {
    **_LAYOUTS,
    **{f"data at {shift} bytes": {"shift": shift} for shift in (4, 8, 16, 32)},
    "data at 1 byte, uint8": {"shift": 1, "dtype": (1, 8, 1)},
    **{name: {"dtype": dtype} for dtype, name in samples.READABLE.items()},
    **{f"{name}, transposed": {"dtype": dtype, "strides": (1, 2)}
       for dtype, name in samples.READABLE.items()},
    **{f"{mark}, {layout}": {**flags, **fields}
       for mark, flags in _MARKED.items() for layout, fields in _LAYOUTS.items()},
}  # fmt: skip


@probe("C-19", hostile=True)
def copy_false_shares_or_is_refused(target: Target) -> str:
    """A retry without copy after the TypeError of an old producer is the published pattern."""
    _accepts_copy(target)
    shared, refused = 0, []
    copied: list[str] = []
    for keywords in with_its_device(target, {"copy": False}):
        for title, call in each_import(target, survivors(target, _TO_COPY), **keywords):
            if call.refusal is not None:
                refused.append(f"{title}: {call.error_text}")
            elif not shares_memory(call):
                copied.append(title)
            else:
                shared += 1
        if copied:
            break
    if copied:
        raise Broken(
            f"{spelled(keywords)} returned a copy without an error: {summed_up(copied)}",
            fix="Share the memory, or raise BufferError where you must copy.",
        )
    if not shared and not refused:
        raise Skip("no plain tensor is accepted")
    rest = f"; refused: {refused[0]}" if refused else ""
    return f"{shared} shared, {len(refused)} refused{rest}"


@probe("C-37")
def shares_by_default_what_it_can_share(target: Target) -> str:
    _accepts_copy(target)
    shared = 0
    for kind, producer in support(target).producers.items():
        call = ConsumerCall(target, producer(), copy=False)
        if call.refusal is not None or not shares_memory(call):
            continue
        shared += 1
        if not shares_memory(ConsumerCall(target, producer())):
            raise Broken(f"{kind}: copy=False shares the memory, and without copy it is copied")
    if not shared:
        raise Skip("copy=False shares no plain tensor")
    return ""


# C-31: what differs from the announcement ------------------------------------------------------


def _right_or_refused(call: ConsumerCall) -> str:
    if call.refusal is not None:
        return f"refused: {call.error_text}"
    try:
        difference = wrong_values(call)
    except CannotRead as why:
        raise Skip(f"accepted, and cannot be read: {why}") from None
    if difference is not None:
        raise Broken(difference)
    return "read correctly"


@probe("C-31", hostile=True)
def versioned_for_a_bare_call(target: Target) -> str:
    """The producer's error, but the struct must not be misread."""
    if target.function is None:
        raise Skip(NO_CONSUMER)
    if not takes_capsules(target) and asks_for_versioned(target):
        return "it asks for versioned capsules"
    return _right_or_refused(import_tensor(target, version=VERSION))


@probe("C-31", hostile=True)
def reports_cuda_and_exports_from_the_cpu(target: Target) -> str:
    negotiates(target)
    return _right_or_refused(import_tensor(target, device=abi.CPU, reported_device=CUDA))


@probe("C-31", hostile=True)
def reports_the_cpu_and_exports_from_cuda(target: Target) -> str:
    negotiates(target)
    described = {"device": CUDA, "reported_device": abi.CPU}
    if any(how_it_ends(target, kind, described) for kind in kinds(target)):
        raise Broken("the import ends the process")
    call = import_tensor(target, **described)
    if call.refusal is not None:
        return f"refused: {call.error_text}"
    try:
        own = tuple(int(part) for part in reported_device(call.result))
    except Exception as error:
        return f"accepted; its device is not known: {name_error(error)}"
    if own[0] == devices.CPU:
        raise Broken(f"memory of device {CUDA} became an array on device {own}")
    return f"preserved as memory of device {own}"
