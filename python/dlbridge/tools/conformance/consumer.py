"""The probes of consumers, C-01 to C-16: what they make of capsules that are made by hand."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

from dlbridge.tools import abi
from dlbridge.tools.conformance.exports import best, device_of, make
from dlbridge.tools.conformance.handmade import (
    VERSION,
    Fed,
    Nested,
    OldProducer,
    Producer,
    RaisingProducer,
    SpoilingProducer,
    feed,
    negotiates,
    numbers_of,
    road_for,
    row_major,
    takes_capsules,
)
from dlbridge.tools.conformance.probes import Broken, Function, Skip, probe
from dlbridge.tools.conformance.target import Target, name_error

CUDA = (2, 0)
NOWHERE = 0x10  # a pointer that nobody can follow
NEW_MINOR, UNKNOWN_FLAG = 99, 1 << 40


# What is asked of most of them -----------------------------------------------------------------


def expected_of(words: dict[str, Any]) -> Nested:
    """The numbers in a tensor of these words."""
    shape = words.get("shape", (2, 3))
    strides = words.get("strides", (3, 1))
    return numbers_of(
        shape,
        row_major(shape) if strides is None else strides,
        words.get("byte_offset", 0) / 4,
    )


def _must_be_right(fed: Fed, words: dict[str, Any]) -> None:
    got, expected = fed.values(), expected_of(words)
    if got != expected:
        raise Broken(f"expected the values {_short(expected)}; got {_short(got)}")


def accepts(target: Target, **words: Any) -> None:
    """Raises Broken where a tensor is refused, or is read wrong."""
    road_for(target)  # where the plainest is refused, there is nothing to learn
    fed = feed(target, **words)
    if fed.refusal is not None:
        raise Broken(f"refused: {fed.said}")
    _must_be_right(fed, words)


def right_or_refused(target: Target, **words: Any) -> str | None:
    """Raises Broken where a tensor is read wrong; a refusal is a note."""
    fed = feed(target, **words)
    if fed.refusal is not None:
        return f"refused: {fed.said}"
    _must_be_right(fed, words)
    return None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def takes_versioned(target: Target) -> None:
    """Raises Skip for a consumer that takes no versioned capsule at all."""
    fed = feed(target, version=VERSION)
    if fed.refusal is not None:
        raise Skip(f"versioned capsules are refused: {fed.said}")


def several(rule: str, table: dict[str, Function], *, hostile: bool = True) -> None:
    """Registers a probe for every row of a table, each by the row's name."""
    for name, function in table.items():
        probe(rule, hostile=hostile, name=f"consumer.{name}")(function)


# C-01 to C-03: how it asks ---------------------------------------------------------------------


@probe("C-01")
def takes_legacy_capsules(target: Target) -> None:
    fed = Fed(target, OldProducer())
    if fed.refusal is not None:
        raise Broken(f"a legacy capsule, from a producer of 2021.12, is refused: {fed.said}")
    _must_be_right(fed, {})


@probe("C-01")
def takes_versioned_capsules(target: Target) -> str | None:
    fed = feed(target, version=VERSION)
    if fed.refusal is None:
        _must_be_right(fed, {})
        return None
    raw = Fed(target, Producer(version=VERSION), raw=True)
    if raw.refusal is not None:
        raise Broken(f"a versioned capsule is refused: {fed.said}")
    return f"as a raw capsule only; from a producer it is refused: {fed.said}"


@probe("C-02")
def sends_max_version_first(target: Target) -> str:
    negotiates(target)
    asked = feed(target).producer.asked
    if not asked:
        raise Skip("it asked for no capsule")
    wanted = asked[0].get("max_version")
    if wanted is None:
        raise Broken(f"the first call was __dlpack__({_spelled(asked[0])})")
    if not (isinstance(wanted, tuple) and len(wanted) == 2 and wanted[0] >= 1):
        raise Broken(f"max_version was {wanted!r}, which is no pair of (major, minor) from (1, 0)")
    return f"__dlpack__({_spelled(asked[0])})"


def _spelled(keywords: dict[str, Any]) -> str:
    return ", ".join(f"{word}={value!r}" for word, value in keywords.items())


@probe("C-02")
def falls_back_on_type_error(target: Target) -> None:
    negotiates(target)
    fed = Fed(target, OldProducer())
    if isinstance(fed.refusal, TypeError):
        raise Broken(f"a producer without max_version is not asked again: {fed.said}")


@probe("C-02")
def retries_after_no_other_error(target: Target) -> None:
    """A BufferError is an answer. To ask again with less said undoes what was asked."""
    negotiates(target)
    asked = Fed(target, RaisingProducer(BufferError("this cannot be exported"))).producer.asked
    for before, after in zip(asked, asked[1:]):
        dropped = before.keys() - after.keys()
        if dropped:
            raise Broken(
                f"after a BufferError it asked again without {', '.join(sorted(dropped))}",
            )


@probe("C-02")
def copy_false_is_not_dropped(target: Target) -> str:
    try:
        probing = Fed(target, Producer(), copy=False)
    except Skip as why:
        return f"copy=False cannot be asked for: {why}"
    if probing.refusal is not None:
        return f"copy=False is refused: {probing.said}"
    if not any(each.get("copy") is False for each in probing.producer.asked):
        raise Broken(f"copy=False is never passed on: __dlpack__({_spelled_all(probing)})")
    fed = Fed(target, OldProducer(), copy=False)
    if fed.refusal is None:
        raise Broken(
            "a producer that knows no copy was asked again without copy=False; the result may be a"
            " copy"
        )
    return f"refused: {fed.said}"


def _spelled_all(fed: Fed) -> str:
    return "), then (".join(_spelled(each) for each in fed.producer.asked)


@probe("C-03")
def takes_legacy_when_it_asked_for_versioned(target: Target) -> None:
    negotiates(target)
    fed = feed(target, version=None)
    if fed.refusal is not None:
        raise Broken(f"refused: {fed.said}")
    _must_be_right(fed, {})


@probe("C-03", hostile=True)
def never_misreads_versioned(target: Target) -> str | None:
    """Versioned where it asked for nothing: a fault of the producer, and no reason to misread."""
    return right_or_refused(target, version=VERSION)


# C-04 and C-05: versions and flags -------------------------------------------------------------


def _refuses_major_2(target: Target, *, raw: bool = False, **words: Any) -> str:
    fed = Fed(target, Producer(version=(2, 0), **words), raw=raw)
    said, accepted, made = fed.said, fed.refusal is None, len(fed.producer.made)
    calls = fed.let_go()
    if accepted:
        raise Broken("it was accepted, and read as if it were version 1")
    if calls != made:
        raise Broken(f"refused, {said}; and its deleter was called {calls} times")
    return f"refused: {said}"


@probe("C-04")
def refuses_major_2(target: Target) -> str:
    return _refuses_major_2(target)


@probe("C-04", hostile=True)
def reads_nothing_of_major_2(target: Target) -> str:
    return _refuses_major_2(target, shape=None, strides=None, ndim=3, pointer=NOWHERE)


@probe("C-04", hostile=True)
def looks_at_no_ndim_of_major_2(target: Target) -> str:
    return _refuses_major_2(target, ndim=-5, dtype=(200, 0, 0))


@probe("C-04", hostile=True)
def refuses_major_2_without_its_producer(target: Target) -> str:
    """Some check what they asked for, and not what they are handed."""
    fed = Fed(target, Producer(version=None), raw=True)
    if fed.refusal is not None:
        return f"raw capsules are refused: {fed.said}"
    return _refuses_major_2(target, raw=True)


@probe("C-05")
def takes_a_newer_minor(target: Target) -> None:
    takes_versioned(target)
    accepts(target, version=(1, NEW_MINOR))


@probe("C-05")
def takes_unknown_flags(target: Target) -> None:
    takes_versioned(target)
    accepts(target, version=VERSION, flags=UNKNOWN_FLAG)


@probe("C-05")
def takes_what_was_copied(target: Target) -> None:
    takes_versioned(target)
    accepts(target, version=VERSION, flags=abi.IS_COPIED)


# C-06: what is no fresh capsule ----------------------------------------------------------------


class _Gives:
    """Gives one and the same thing, whatever it is asked."""

    def __init__(self, gift: Any, device: tuple[int, int] = abi.CPU) -> None:
        self.gift, self.device = gift, device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.gift


def _refuses(target: Target, gift: Any) -> str:
    try:
        result = target.consume(gift if takes_capsules(target) else _Gives(gift))
    except (Skip, SystemError):
        raise
    except Exception as raised:
        return f"refused: {name_error(raised)}"
    raise Broken(f"it was accepted, and gave a {type(result).__name__}")


def _refuses_named(target: Target, flavour: str, name: str | None) -> str:
    producer = Producer()
    capsule = producer.give(VERSION if flavour == abi.VERSIONED else None)
    abi.rename(capsule, name)
    try:
        return _refuses(target, capsule)
    finally:
        producer.capsules.clear()
        del capsule
        if producer.calls:
            raise Broken(f"the deleter of a capsule that is named {name!r} was called")


NOT_FRESH: dict[str, Function] = {
    "refuses_used_legacy": lambda target: _refuses_named(target, abi.LEGACY, abi.USED[abi.LEGACY]),
    "refuses_used_versioned": lambda target: _refuses_named(
        target, abi.VERSIONED, abi.USED[abi.VERSIONED]
    ),
    "refuses_no_name": lambda target: _refuses_named(target, abi.LEGACY, None),
    "refuses_another_name": lambda target: _refuses_named(target, abi.LEGACY, "dltensor2"),
    "refuses_none": lambda target: _refuses(target, None),
    "refuses_a_number": lambda target: _refuses(target, 42),
    "refuses_an_object": lambda target: _refuses(target, object()),
}
several("C-06", NOT_FRESH)


# C-07: who frees, and how often ----------------------------------------------------------------


def _freed_once(target: Target, **words: Any) -> None:
    fed = feed(target, **words)
    if fed.refusal is not None:
        raise Skip(f"refused: {fed.said}")
    names = [abi.name_of(capsule) for capsule in fed.producer.capsules]
    _must_be_right(fed, words)
    calls = fed.let_go()
    if calls != 1:
        raise Broken(f"after the result and the capsule were dropped: {calls} calls of the deleter")
    if not all(name in abi.USED.values() for name in names):
        raise Broken(
            f"a consumed capsule is still named {names[-1]!r}; it was freed once, by luck or by"
            " its destructor",
            severity="W",
        )


@probe("C-07")
def frees_legacy_once(target: Target) -> None:
    _freed_once(target, version=None)


@probe("C-07")
def frees_versioned_once(target: Target) -> None:
    takes_versioned(target)
    _freed_once(target, version=VERSION)


@probe("C-07", hostile=True)
def keeps_memory_while_it_is_used(target: Target) -> None:
    fed = Fed(target, SpoilingProducer())
    if fed.refusal is not None:
        raise Skip(f"refused: {fed.said}")
    fed.producer.capsules.clear()
    for _ in range(2):
        _must_be_right(fed, {})


# Words that few consumers accept.
REFUSABLE: dict[str, dict[str, Any]] = {
    "unknown_device": {"device": (99, 0)},
    "cuda": {"device": CUDA, "pointer": NOWHERE},
    "cuda_said_by_the_capsule_only": {"device": CUDA, "says": abi.CPU},
    "unknown_dtype": {"dtype": (200, 32, 1)},
    "two_lanes": {"dtype": (2, 32, 2)},
    "no_bits": {"dtype": (2, 0, 1)},
    "too_many_elements": {"shape": (2**62, 2**62), "strides": (0, 0)},
}


def _refusal_of(**words: Any) -> Function:
    def refused_frees_once(target: Target) -> str:
        fed = feed(target, **words)
        if fed.refusal is None:
            fed.result = None
            return "accepted"
        said, made = fed.said, len(fed.producer.made)
        calls = fed.let_go()
        if calls != made:
            raise Broken(f"refused, {said}; {calls} calls of the deleter for {made} capsules")
        return f"refused: {said}"

    return refused_frees_once


several(
    "C-07",
    {
        f"frees_once_what_it_refuses_{name}": _refusal_of(**words)
        for name, words in REFUSABLE.items()
    },
)


# C-08 to C-10: layout --------------------------------------------------------------------------


@probe("C-08", hostile=True)
def null_strides(target: Target) -> None:
    accepts(target, strides=None)


@probe("C-08", hostile=True)
def null_strides_of_a_vector(target: Target) -> None:
    accepts(target, shape=(5,), strides=None)


@probe("C-08", hostile=True)
def null_extents_without_dimensions(target: Target) -> None:
    words: dict[str, Any] = {"shape": (), "strides": (), "ndim": 0}
    fed = feed(target, **{**words, "shape": None, "strides": None})
    if fed.refusal is not None:
        raise Broken(
            f"a tensor without dimensions is refused: {fed.said}",
            expected="A tensor without dimensions, whose shape and strides are NULL, is accepted.",
            fix="Do not read shape and strides where ndim is 0.",
            severity="W",
        )
    _must_be_right(fed, words)


@probe("C-08", hostile=True)
def null_strides_on_its_own_device(target: Target) -> str | None:
    """Memory of a device is often imported by other code than memory of the CPU."""
    try:
        made = make(target)
        device = device_of(made)
        export = best(made)
    except (Skip, BufferError) as why:
        return f"it has no array to begin with: {why}"
    if device[0] == abi.CPU[0] or takes_capsules(target):
        return None
    managed = abi.STRUCTS[export.contents.name].from_address(export.contents.address)
    managed.tensor.strides = None
    if export.contents.version is not None:
        managed.version.minor = 0  # which allows it
    try:
        result = target.consume(_Gives(export.capsule, device))
    except Exception as raised:
        raise Broken(f"on device {device}: refused: {name_error(raised)}") from None
    strides = best(result).contents.strides
    if strides not in (None, export.contents.strides):
        raise Broken(f"on device {device} NULL became strides of {strides}")
    return None


def _offset(**words: Any) -> Function:
    def byte_offset(target: Target) -> None:
        fed = feed(target, **words)
        if fed.refusal is not None:
            raise Broken(f"an offset is refused: {fed.said}", severity="W")
        _must_be_right(fed, words)

    return byte_offset


several(
    "C-09",
    {
        "byte_offset_of_one": _offset(byte_offset=4),
        "byte_offset_of_four": _offset(byte_offset=16),
        "byte_offset_of_a_cache_line": _offset(byte_offset=64),
        "byte_offset_of_a_vector": _offset(byte_offset=16, shape=(3,), strides=(1,)),
        "byte_offset_without_dimensions": _offset(byte_offset=64, shape=(), strides=()),
    },
)


@probe("C-09", hostile=True)
def byte_offset_with_null_strides(target: Target) -> str | None:
    return right_or_refused(target, byte_offset=16, strides=None)


def _layout(shape: tuple[int, ...], strides: tuple[int, ...]) -> Function:
    return lambda target: right_or_refused(target, shape=shape, strides=strides)


several(
    "C-10",
    {
        "backwards": _layout((3,), (-1,)),
        "rows_backwards": _layout((2, 3), (-3, 1)),
        "all_backwards": _layout((2, 3), (-3, -1)),
        "repeated": _layout((3,), (0,)),
        "rows_repeated": _layout((2, 3), (0, 1)),
        "column_major": _layout((2, 3), (1, 2)),
        "every_second": _layout((3,), (2,)),
        "with_gaps": _layout((2, 3), (8, 2)),
        "one_row_of_any_stride": _layout((1, 3), (999, 1)),
        "one_row_of_a_negative_stride": _layout((1, 3), (-5, 1)),
    },
)


# C-11 and C-12: what is impossible, or not understood ------------------------------------------


def _impossible(**words: Any) -> Function:
    def impossible(target: Target) -> str:
        fed = feed(target, **words)
        if fed.refusal is not None:
            return f"refused: {fed.said}"
        try:
            shape = getattr(fed.result, "shape", None)  # some look at nothing before they are asked
        except SystemError:
            shape = "no clean error"
        except Exception as raised:
            return f"refused when it is asked for its shape: {name_error(raised)}"
        raise Broken(f"{_spelled(words)} was accepted; the shape of the result: {shape}")

    return impossible


several(
    "C-11",
    {
        "ndim_of_minus_1": _impossible(ndim=-1),
        "least_ndim": _impossible(ndim=-(2**31)),
        "negative_extent": _impossible(shape=(-2,), strides=(1,)),
        "one_negative_extent": _impossible(shape=(2, -3), strides=(3, 1)),
        "too_many_elements": _impossible(shape=(2**62, 2**62), strides=(0, 0)),
        "too_many_bytes": _impossible(shape=(2**61, 4), strides=(4, 1)),
    },
)


def _of_rank(rank: int) -> Function:
    """All extents are 1: possible, and beyond what most arrays can be."""

    def rank_is_right_or_refused(target: Target) -> str | None:
        fed = feed(target, shape=(1,) * rank, strides=(1,) * rank)
        if fed.refusal is not None:
            return f"refused: {fed.said}"
        try:
            got = fed.values()
        except Broken as unreadable:
            return unreadable.got
        for _ in range(rank):
            got = got[0] if isinstance(got, (list, tuple)) and len(got) == 1 else "another shape"
        if got != 0.0:
            raise Broken(f"{rank} dimensions of extent 1 hold {_short(got)} and not 0.0")
        return None

    return rank_is_right_or_refused


several("C-11", {f"ndim_of_{rank}": _of_rank(rank) for rank in (33, 65, 1000)})


@probe("C-11", hostile=True)
def numbers_at_null(target: Target) -> str:
    fed = feed(target, pointer=0)
    if fed.refusal is None:
        raise Broken(
            "six numbers at NULL were accepted",
            expected="Data that is NULL in a tensor that is not empty is refused.",
            fix="Test the pointer where the size is not 0, and raise BufferError.",
            severity="W",
        )
    return f"refused: {fed.said}"


def _kept_or_refused(dtype: tuple[int, int, int], *right: Nested) -> Function:
    """`right`: values that are a true reading of three elements of this dtype."""

    def dtype_is_kept_or_refused(target: Target) -> str:
        fed = feed(target, dtype=dtype, shape=(3,), strides=(1,))
        if fed.refusal is not None:
            return f"refused: {fed.said}"
        again = _triple(fed.result)
        if again == dtype:
            return f"kept as {dtype}"
        try:
            got = fed.values()
        except Broken as unreadable:
            return f"accepted; {unreadable.got}"
        if got in right:
            return "read right"
        raise Broken(f"{dtype} is read as {again or 'numbers'}: {_short(got)}")

    return dtype_is_kept_or_refused


def _triple(x: Any) -> tuple[int, int, int] | None:
    """The dtype that a result says when it is exported; None where it says none."""
    with contextlib.suppress(Exception):
        return abi.read(x.__dlpack__()).dtype
    return None


PAIRS = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
several(
    "C-12",
    {
        "unknown_code": _kept_or_refused((200, 32, 1)),
        "two_lanes": _kept_or_refused((2, 32, 2), PAIRS),
        "no_bits": _kept_or_refused((2, 0, 1)),
        "odd_bits": _kept_or_refused((2, 33, 1)),
        "wide_float4": _kept_or_refused((17, 8, 1)),
    },
)


@probe("C-12", hostile=True)
def no_lanes(target: Target) -> str:
    try:
        return _kept_or_refused((2, 32, 0))(target) or ""
    except Broken as broken:
        broken.severity = "W"  # no memory is in danger: elements without lanes have no bytes
        raise


@probe("C-12")
def booleans(target: Target) -> None:
    fed = feed(target, dtype=(6, 8, 1))
    if fed.refusal is not None:
        raise Broken(
            f"bool is refused: {fed.said}",
            expected="Booleans, (6, 8, 1), are accepted.",
            fix="Accept kDLBool of 8 bits, and not only kDLUInt.",
            severity="W",
        )


# C-13: read-only -------------------------------------------------------------------------------


@probe("C-13")
def read_only_memory_is_not_written(target: Target) -> str:
    takes_versioned(target)
    fed = feed(target, flags=abi.READ_ONLY)
    if fed.refusal is not None:
        return f"refused: {fed.said}"
    if fed.producer.made[-1].name != abi.VERSIONED:
        raise Skip("it asks for legacy capsules, which cannot say that memory is read-only")
    with contextlib.suppress(Exception):
        fed.result[0, 0] = 77.0
    if fed.producer.first() == 77.0:
        raise Broken("result[0, 0] = 77 wrote into memory that is marked READ_ONLY")
    fed.producer.write(5.0)
    if fed.values()[0][0] != 5.0:
        return "the result is a copy"
    said = {name: told for name, told in _says_writable(fed.result).items() if told is not None}
    wrong = [name for name, told in said.items() if told]
    if wrong:
        raise Broken(f"the result says it is writable, by {' and '.join(wrong)}")
    return f"read-only, by {', '.join(said)}" if said else "nothing can be written"


def _says_writable(x: Any) -> dict[str, bool | None]:
    return {
        "flags.writeable": _ask(lambda: bool(x.flags.writeable)),
        "the buffer protocol": _ask(lambda: not memoryview(x).readonly),
        "__array_interface__": _ask(lambda: not x.__array_interface__["data"][1]),
        "__dlpack__": _ask(lambda: _versioned_writable(x)),
    }


def _ask(question: Any) -> bool | None:
    try:
        return question()  # type: ignore[no-any-return]
    except Exception:
        return None


def _versioned_writable(x: Any) -> bool | None:
    said = abi.read(x.__dlpack__(max_version=VERSION))
    return None if said.version is None else not said.flags & abi.READ_ONLY


# C-14: memory that cannot be reached -----------------------------------------------------------


def _device(device: tuple[int, int], **words: Any) -> Function:
    """With `pointer`, nothing can be read; without, the memory of the CPU is behind it."""

    def device_is_kept_or_refused(target: Target) -> str:
        fed = feed(target, device=device, **words)
        if fed.refusal is not None:
            return f"refused: {fed.said}"
        with contextlib.suppress(Exception):
            again = tuple(int(part) for part in fed.result.__dlpack_device__())
            if again == device:
                return f"kept as memory of device {device}"
        if "pointer" in words:
            silent = not hasattr(fed.result, "__dlpack_device__")  # it may well have kept it
            raise Broken(
                f"memory of device {device} was accepted", severity="W" if silent else None
            )
        if fed.values() == expected_of({}):
            raise Broken(f"memory of device {device} was read as memory of the CPU")
        return "accepted, and not read"

    return device_is_kept_or_refused


several(
    "C-14",
    {
        "device_that_nobody_knows": _device((99, 0), pointer=NOWHERE),
        "device_of_the_simulator": _device((9, 0), pointer=NOWHERE),
        "cuda_without_memory": _device(CUDA, pointer=NOWHERE),
        "cuda_behind_the_back": _device(CUDA, says=abi.CPU),
        "unknown_behind_the_back": _device((99, 0), says=abi.CPU),
    },
)


@probe("C-14", hostile=True)
def says_cuda_and_gives_the_cpu(target: Target) -> str | None:
    negotiates(target)
    fed = feed(target, says=CUDA)
    if fed.refusal is not None:
        return f"refused: {fed.said}"
    _must_be_right(fed, {})
    return "the capsule's device counts"


# C-15 and C-16: alignment, and nothing at all --------------------------------------------------


def _shifted(by: int) -> Function:
    return lambda target: right_or_refused(target, shift=by)


several("C-15", {f"data_at_{by}": _shifted(by) for by in (1, 2, 4, 8, 16, 32)})


def _sum_of(target: Target, by: int) -> str | None:
    """Reading needs less alignment than the vector instructions of arithmetic."""
    shape = (32,)
    fed = feed(target, shape=shape, strides=(1,), shift=by)
    if fed.refusal is not None:
        return f"refused: {fed.said}"
    try:
        fed.result = fed.result + fed.result
        got = fed.values()
    except Exception as raised:
        return f"it cannot be added to itself: {name_error(raised)}"
    expected = [2 * number for number in numbers_of(shape, (1,))]
    if got != expected:
        raise Broken(f"x + x gave {_short(got)}; expected {_short(expected)}")
    return None


several("C-15", {f"sum_of_data_at_{by}": partial(_sum_of, by=by) for by in (1, 4, 16, 32)})


def _empty(shape: tuple[int, ...], pointer: int | None) -> Function:
    def empty(target: Target) -> None:
        road_for(target)
        fed = feed(target, shape=shape, strides=row_major(shape), pointer=pointer)
        if fed.refusal is not None:
            raise Broken(f"the shape {shape} is refused: {fed.said}")
        got = fed.values()
        if list(got) != numbers_of(shape, row_major(shape)):
            raise Broken(f"the shape {shape} arrived as {_short(got)}")

    return empty


several(
    "C-16",
    {
        "empty_at_null": _empty((0,), 0),
        "empty_rows_at_null": _empty((2, 0), 0),
        "empty_blocks_at_null": _empty((2, 0, 4), 0),
        "empty_at_a_live_address": _empty((0,), None),
    },
)
