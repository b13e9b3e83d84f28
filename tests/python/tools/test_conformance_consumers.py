"""The probes of consumers find planted defects, each by its rule, and accept sound variants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from planted_consumer import Consumer, make

from dlbridge.tools import abi
from dlbridge.tools.conformance import probes
from dlbridge.tools.conformance.helpers import producers, results, samples
from dlbridge.tools.conformance.outcomes import Broken, Skip
from dlbridge.tools.conformance.registry import Probe
from dlbridge.tools.conformance.rules import RULES
from dlbridge.tools.conformance.target import USUAL, Target

OTHERS = {"S-01", "S-02", "S-05", "S-10", "S-21", "S-22"}  # streams
CONSUMERS = [rule for rule in RULES if rule[0] in "CS" and rule not in OTHERS]
CONSUMERS += ["X-06", "X-08", "X-09", "X-10", "X-12"]
MODULES = {
    *("negotiation", "ownership", "layouts", "dtypes", "devices", "read_only", "from_dlpack"),
    *("exchange_table", "other_protocols", "sharing"),
}

# By defect of planted_consumer.py: the rule that it breaks, and a part of the message.
DEFECTS = {
    "no_retry": ("C-01", "is refused"),
    "no_max_version": ("C-02", "the first call was __dlpack__()"),
    "no_legacy": ("C-03", "a legacy capsule for max_version is refused"),
    "no_versioned": ("C-17", "returned a versioned capsule, and it is refused"),
    "major_ignored": ("C-04", "read as major version 1"),
    "minor_refused": ("C-05", "version (1, 99): refused"),
    "flags_refused": ("C-05", "an unknown flag: refused"),
    "used_accepted": ("C-06", "a capsule named 'used_dltensor"),
    "never_freed": ("C-07", "the deleters were called 0 times, and the number of tensors is 1"),
    "freed_twice": ("C-07", "the deleters were called 2 times, and the number of tensors is 1"),
    "freed_early": ("C-07", "and its deleter has been called"),
    "bare_not_freed": ("C-07", "whose manager_ctx is NULL"),
    "null_is_column_major": ("C-08", "legacy, shape (2, 3), NULL strides"),
    "offset_ignored_in_legacy": ("C-09", "legacy, shape (2, 3), strides (3, 1), byte_offset 1"),
    "offset_ignored_in_versioned": ("C-09", "versioned, shape (2, 3)"),
    "offset_of_strided_ignored": ("C-09", "shape (3,), strides (2,), byte_offset 5"),
    "backwards_as_forwards": ("C-10", "versioned, shape (3,), strides (-1,)"),
    "zero_as_one": ("C-10", "strides (0,)"),
    "rank_3_is_compact": ("C-10", "shape (2, 3, 4), strides (1, 2, 6)"),
    "rank_4_is_compact": ("C-10", "shape (2, 3, 2, 2), strides (1, 2, 6, 12)"),
    "extents_of_1_count": ("C-10", "shape (3, 1, 2), strides (2, 2, 1)"),
    "remembers_addresses": ("C-10", "another tensor at the address of the last one"),
    "remembers_producers": ("C-10", "a new import from a producer that changed"),
    "next_element": ("C-10", "versioned, shape (5,), strides (1,) of uint8: expected"),
    "ndim_unchecked": ("C-11", "ndim of -1: accepted"),
    "bf16_as_f16": ("C-12", "bfloat16 of shape (5,): expected"),
    "f64_as_f32": ("C-12", "reported as float32"),
    "u8_as_i8": ("C-12", "reported as int8"),
    "bool_as_u8": ("C-12", "bool of shape (5,): reported as uint8"),
    "complex64_as_f64": ("C-12", "reported as float64"),
    "e4m3fn_as_i8": ("C-12", "float8_e4m3fn of shape (5,)"),
    "lanes_ignored": ("C-12", "float32x2, (2, 32, 2) is read as float32"),
    "read_only_ignored": ("C-13", "the result is writable, by flags.writeable and __dlpack__"),
    "views_writable": ("C-13", "x[1:] is writable"),
    "devices_read": ("C-31", "memory of device (2, 0) became an array on device (1, 0)"),
    "rounds_down": ("C-15", "1 elements from an aligned address"),
    "null_refused": ("C-16", "at NULL of uint8: refused"),
    "any_error_retries": ("C-18", "after BufferError: this cannot be exported"),
    "copies_when_unaligned": ("C-19", "copy=False returned a copy without an error"),
    "copy_not_sent": ("C-19", "copy=False returned a copy, marked IS_COPIED"),
    "not_renamed": ("C-20", "a consumed capsule is still named"),
    "renamed_early": ("C-21", "the deleter was called 0 times"),
    "frees_what_it_refuses": ("C-21", "the deleter was called 2 times"),
    "null_strides_refused": ("C-23", "NULL strides: refused"),
    "offset_refused": ("C-24", "byte_offset 1 of float32: refused"),
    "scalars_refused": ("C-25", "shape and strides of NULL: refused"),
    "bool_refused": ("C-26", "bool is refused, and uint8 is not"),
    "small_float_of_any_size": ("C-27", "float4_e2m1fn of 8 bits was accepted"),
    "unknown_as_float": ("C-28", "an unknown code, (200, 32, 1) is read as float32"),
    "odd_bits_as_float": ("C-28", "33 bits"),
    "views_own_nothing": ("C-29", "after x was dropped, x[...] holds"),
    "exports_the_next_element": ("C-30", "exported again (legacy): expected"),
    "exports_bytes": ("C-30", "the dtype is (1, 8, 1)"),
    "exports_own_nothing": ("C-30", "after the result was dropped"),
    "no_deleter_refused": ("C-32", "no deleter: refused"),
    "rounds_down_to_elements": ("C-33", "1 bytes from an aligned address"),
    "wrong_error": ("C-34", "RuntimeError: no such device"),
    "keeps_the_producer": ("X-08", "after an import, dropped, the producer is still referenced"),
    "keeps_the_exception": ("X-08", "after an exception of __dlpack__, dropped"),
    "remembers_methods": ("S-09", "Derived exported"),
    "device_is_no_pair": ("S-11", "dl_device='cpu', which is no pair"),
    "any_object": ("S-12", "became a Array"),
    "wraps_exceptions": ("S-13", "the caller got RuntimeError: the import failed"),
    "old_producers_share": ("S-14", "the result shares the producer's memory"),
    "wrong_class": ("S-15", "copy=False was refused with OSError"),
}


def target_with(consumer: Any, name: str) -> Target:
    return Target(
        name=name,
        consumer=name,
        consumer_name=name,
        factory=make,
        accepts=frozenset({"shape", "dtype", "readonly"} & set(USUAL)),
        function=consumer,
    )


def probes_of(rule: str) -> list[Probe]:
    return [
        each
        for each in probes.in_order()
        if each.rule == rule and each.name.partition(".")[0] in MODULES
    ]


def outcomes(rule: str, target: Target) -> Iterator[tuple[str, str]]:
    for probe in probes_of(rule):
        try:
            yield "pass", probe.function(target) or ""
        except Skip as why:
            yield "skip", str(why)
        except Broken as broken:
            yield "broken", broken.got


@pytest.fixture(scope="module", autouse=True)
def not_in_trial_processes() -> Iterator[None]:
    """None of these consumers ends a process, and pytest should not be forked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dlbridge.tools.conformance.helpers.trials._try", lambda *_: None)
        yield


@pytest.mark.parametrize("rule", CONSUMERS)
def test_every_rule_has_a_probe(rule: str) -> None:
    assert probes_of(rule)


SKIPPED = {  # the reason names what the library does not have
    "S-03": "has no exchange table",
    "S-16": "has no function asarray",
    **{f"S-{number}": "has no exchange table" for number in (17, 18, 19, 20)},
    "S-04": "has no other protocol",
    "S-07": "float4_e2m1fn",
}


@pytest.mark.parametrize("rule", CONSUMERS)
def test_a_sound_consumer_breaks_no_rule(rule: str) -> None:
    if rule == "S-16":
        pytest.skip("it asks the module of the target")
    found = list(outcomes(rule, target_with(Consumer(), "sound")))
    assert [got for outcome, got in found if outcome == "broken"] == []
    for outcome, got in found:
        assert outcome == "pass" or SKIPPED.get(rule, "does not matter") in got, got


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_is_found_by_its_rule(defect: str) -> None:
    rule, words = DEFECTS[defect]
    target = target_with(Consumer(defect), defect)
    broken = "; ".join(got for outcome, got in outcomes(rule, target) if outcome == "broken")
    assert words in broken


@pytest.mark.parametrize("defect", ["renamed_early", "frees_what_it_refuses"])
def test_refusals_of_invalid_tensors_are_counted_apart(defect: str) -> None:
    target = target_with(Consumer(defect), defect)
    broken = [got for outcome, got in outcomes("C-22", target) if outcome == "broken"]
    assert "an unknown dtype, refused" in broken[0] or "an unknown device, refused" in broken[0]


# Only what the standards do not forbid -----------------------------------------------------------


def test_a_legacy_consumer_is_skipped_by_the_rules_of_versioned_capsules() -> None:
    target = target_with(Consumer("no_max_version"), "asks for legacy")
    for rule in ("C-03", "C-04", "C-05", "C-13", "C-17"):
        found = {got for outcome, got in outcomes(rule, target) if outcome == "skip"}
        assert found == {"it asks for legacy capsules only"}, rule
        assert "broken" not in {outcome for outcome, _ in outcomes(rule, target)}


def test_a_retry_without_copy_is_the_published_pattern() -> None:
    def retries(x: Any, *, device: Any = None, copy: bool | None = None) -> Any:
        try:
            return Consumer()(x, device=device, copy=copy)
        except TypeError:
            return Consumer()(x)

    target = target_with(retries, "retries")
    assert {outcome for outcome, _ in outcomes("C-19", target)} == {"pass"}
    assert {outcome for outcome, _ in outcomes("C-18", target)} == {"pass"}


class _NoFlags:
    """An array of a library that has no read-only arrays."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape, self.tolist, self.dtype = array.shape, array.tolist, array.dtype

    def __setitem__(self, key: Any, value: float) -> None:
        raise TypeError


def test_a_library_without_read_only_arrays_may_ignore_the_flag() -> None:
    consumer = Consumer("read_only_ignored")
    target = target_with(lambda x: _NoFlags(consumer(x)), "no flags")
    target = Target(**{**vars(target), "accepts": frozenset({"shape"})})
    found = list(outcomes("C-13", target))
    assert {outcome for outcome, _ in found} == {"pass"}
    assert "as the standard prefers" in found[0][1]


def test_a_consumer_that_copies_and_frees_at_once_breaks_nothing() -> None:
    def copies(x: Any) -> Any:
        consumer = Consumer()
        array = consumer(x)
        values = array.tolist()
        return _Copy(values, array.shape, array.dtype)

    target = target_with(copies, "copies")
    for rule in ("C-07", "C-09", "C-10", "C-12", "C-20", "C-21", "C-29", "X-06"):
        broken = [got for outcome, got in outcomes(rule, target) if outcome == "broken"]
        assert broken == [], rule


class _Copy:
    def __init__(self, values: Any, shape: tuple[int, ...], dtype: str) -> None:
        self.values, self.shape, self.dtype = values, shape, dtype

    def tolist(self) -> Any:
        return self.values

    def __getitem__(self, key: Any) -> _Copy:
        values = self.values[key]
        return _Copy(values, (len(values), *self.shape[1:]), self.dtype)


def test_a_conversion_that_keeps_the_values_is_a_note() -> None:
    def widens(x: Any) -> Any:
        array = Consumer()(x)
        dtype = "float64" if array.dtype == "float32" else array.dtype
        return _Copy(array.tolist(), array.shape, dtype)

    found = list(outcomes("C-12", target_with(widens, "widens")))
    assert {outcome for outcome, _ in found} == {"pass"}
    assert "converted: float32 to float64" in found[0][1] + found[1][1] + found[2][1]


def test_a_conversion_that_changes_values_is_none() -> None:
    def narrows(x: Any) -> Any:
        array = Consumer()(x)
        if array.dtype != "float64" or len(array.shape) != 1:
            return array
        values = [round(it, 3) for it in array.tolist()]
        return _Copy(values, array.shape, "float32")

    broken = [got for outcome, got in outcomes("C-12", target_with(narrows, "narrows"))
              if outcome == "broken"]  # fmt: skip
    assert "float64 of shape (5,)" in broken[0]
    assert "reported as float32" in broken[0]


# Helpers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("triple", samples.READABLE, ids=samples.READABLE.get)
def test_samples_tell_dtypes_apart(triple: tuple[int, int, int]) -> None:
    """The same bytes, read as another dtype of that size, give other values."""
    size = samples.itemsize(triple)
    content = samples.encode(triple, 0, 5, True)
    own = [samples.decode(content[i * size :][:size], triple) for i in range(5)]
    assert own == [samples.value(triple, i, True) for i in range(5)]
    for other in samples.READABLE:
        if other != triple and samples.itemsize(other) == size and {triple[0], other[0]} != {8, 10}:
            read = [samples.decode(content[i * size :][:size], other) for i in range(5)]
            assert read != own or triple[0] == 6


def test_the_values_of_a_producer_are_those_in_its_memory() -> None:
    fields: dict[str, Any]
    for fields in ({}, {"strides": (-3, -1)}, {"byte_offset": 8}, {"start": 9}, {"shift": 4}):
        producer = producers.Producer(**fields)
        contents = abi.read(producer.__dlpack__())
        assert results.values_in(contents) == producer.values
    assert producers.Producer(start=1).values == [[1.25, 2.25, 3.25], [4.25, 5.25, 6.25]]


def test_a_deleter_overwrites_what_it_frees() -> None:
    producer = producers.Producer()
    capsule = producer.__dlpack__()
    before = abi.read(capsule)
    abi.take(capsule).free()
    after = abi.read_struct(before.address, before.name)
    assert (before.shape, after.shape, after.strides) == ((2, 3), (1, 1), (5, 5))
    assert abi.read_memory(before.data, 4) == abi.read_memory(after.data, 4) == b"\xee" * 4


def test_invalid_input_comes_last() -> None:
    kinds = [RULES[each.rule].kind for each in probes.in_order() if each.hostile]
    first = kinds.index("hardening")
    assert set(kinds[first:]) == {"hardening"}
