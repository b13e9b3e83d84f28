# SPDX-License-Identifier: BSD-3-Clause
"""Containers of borrowed tensors as arguments: each element is valid for the whole call."""

from __future__ import annotations

import gc
from typing import Any, Callable

import pytest

import foreign
import producers
from bindings import OWNING, bindings, freed_once, function

BINDINGS = bindings("by_def", "by_library")
VECTOR = {"shape": (3,)}


def vectors(count: int = 3) -> list[producers.Producer]:
    """Producers of 0, 1, 2, each in memory of its own."""
    return [producers.Producer(**VECTOR) for _ in range(count)]


class Lazy:
    """A sequence that makes its elements when they are read, and does not keep them."""

    def __init__(self, make: Callable[[], Any], count: int) -> None:
        self.make, self.count = make, count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int) -> Any:
        if i >= self.count:
            raise IndexError
        return self.make()


@pytest.mark.parametrize("binding", BINDINGS)
def test_sequences(binding: str) -> None:
    makes: list[Any] = [list, tuple]
    if binding != OWNING:  # nanobind's caster reads sequences only
        makes.append(lambda all: (p for p in all))
    for make in makes:
        all = vectors()
        assert function(binding, "totals")(make(all)) == [3.0, 3.0, 3.0]
        assert freed_once(*all)


@pytest.mark.parametrize("binding", BINDINGS)
def test_elements_that_only_the_call_keeps(binding: str) -> None:
    handles = []

    def make() -> Any:
        p = producers.Producer(**VECTOR)
        handles.append(p)
        return p

    assert function(binding, "totals")(Lazy(make, 5)) == [3.0] * 5
    assert freed_once(*handles)


@pytest.mark.parametrize("binding", BINDINGS)
def test_nothing_is_freed_during_the_call(binding: str) -> None:
    all = vectors()
    during: list[list[int]] = []
    totals_after = function(binding, "totals_after")
    x = Lazy(iter(all).__next__, 3)
    assert totals_after(x, lambda: during.extend(p.calls for p in all)) == [3.0] * 3
    assert during == [[0], [0], [0]]
    assert freed_once(*all)


@pytest.mark.parametrize("binding", BINDINGS)
def test_other_containers(binding: str) -> None:
    all = vectors(15)
    a, b, c, d, *others = all
    assert function(binding, "totals_of_nested")([[a, b], [], [c]]) == [3.0, 3.0, 3.0]
    assert function(binding, "totals_by_name")({"d": d}) == {"d": 3.0}
    of_array = "totals" if binding == OWNING else "totals_of_array"  # which needs a default span
    assert function(binding, of_array)(others[:3]) == [3.0, 3.0, 3.0]
    assert function(binding, "totals_of_tuple")((*others[3:5], (others[5], 1))) == [3.0, 3.0, 3.0]
    assert function(binding, "totals_of_optional")(others[6:8]) == [3.0, 3.0]
    assert function(binding, "totals_of_optional")(None) == []
    assert function(binding, "total_of_either")(others[8]) == 3.0
    assert function(binding, "totals_of_either")([others[9]]) == [3.0]
    for p in all[:-1]:
        assert p.exports == p.calls and sum(p.calls) >= 1
    integers = producers.Producer(shape=(4,), dtype=(0, 64, 1))
    assert function(binding, "totals_of_either")([integers, others[10]]) == [-4.0, 3.0]


class KeyWithoutRepr(str):
    __slots__ = ()

    def __repr__(self) -> str:
        raise ValueError("no repr")


def test_a_key_whose_repr_raises_does_not_hide_the_reason(extension: Any) -> None:
    integers = producers.Producer(**VECTOR, dtype=(0, 64, 1))
    with pytest.raises(TypeError, match=r"key a value of type KeyWithoutRepr: expected float32"):
        extension.by_def.totals_by_name({KeyWithoutRepr("a"): integers})
    assert freed_once(integers)


def test_a_key_that_utf8_lacks_is_refused(extension: Any) -> None:
    totals_by_name = extension.by_def.totals_by_name
    with pytest.raises(TypeError, match=r"key '\\ud800': UnicodeEncodeError: ") as raised:
        totals_by_name({"\ud800": producers.Producer(**VECTOR)})
    assert isinstance(raised.value.__cause__, UnicodeEncodeError)
    assert totals_by_name({"größe": producers.Producer(**VECTOR)}) == {"größe": 3.0}


@pytest.mark.parametrize("binding", BINDINGS)
def test_lent_elements(binding: str) -> None:
    """An exchange table lends tensors without an owner: the call keeps the objects."""

    class Lender(foreign.Exported):
        __dlpack_c_exchange_api__ = foreign.exchange_capsule(foreign.exchange_table())

    def lend() -> Any:
        return Lender(foreign.tensor(shape=(3,)))

    assert function(binding, "totals")(Lazy(lend, 4)) == [3.0] * 4


@pytest.mark.parametrize("binding", BINDINGS)
def test_real_libraries(binding: str) -> None:
    np = pytest.importorskip("numpy")
    arrays = [np.full(3, value, dtype=np.float32) for value in (1, 10, 100)]
    assert function(binding, "totals")(arrays) == [3.0, 30.0, 300.0]
    all = iter(arrays)
    sums = Lazy(lambda: next(all) + 1, 3)
    assert function(binding, "totals")(sums) == [6.0, 33.0, 303.0]
    function(binding, "fill_all")(arrays)
    assert [a.tolist() for a in arrays] == [[7.0] * 3] * 3


@pytest.mark.parametrize("binding", BINDINGS)
def test_an_element_that_does_not_fit(binding: str) -> None:
    all = [*vectors(2), producers.Producer(shape=(2, 2))]
    with pytest.raises(TypeError):
        function(binding, "totals")(all)
    assert all[0].calls == all[0].exports and all[2].calls == all[2].exports


def test_overloads(extension: Any) -> None:
    kind_of = extension.by_def.kind_of
    assert kind_of(vectors()) == "floats"
    assert kind_of([producers.Producer(shape=(3,), dtype=(0, 64, 1))]) == "integers"


def test_a_cast_within_a_call_is_valid_until_it_returns(extension: Any) -> None:
    if extension.__name__ == "nanobind_extension":  # does not compile with a tensor_span
        return
    p = producers.Producer(**VECTOR)
    assert extension.total_of_cast(p, gc.collect) == 3.0
    assert freed_once(p)


def test_a_cast_outside_a_call_is_refused(extension: Any) -> None:
    if extension.__name__ == "nanobind_extension":
        return
    p = producers.Producer(**VECTOR)
    cast = extension.add_cast_outside(p)
    with pytest.raises(RuntimeError, match="outside a bound func"):
        cast()
    assert freed_once(p)
    gc.collect()


def test_a_container_that_fits_has_no_part_in_a_refusal(extension: Any) -> None:
    x = producers.Producer(**VECTOR)
    assert extension.total_of_all([x], 2) == 6
    with pytest.raises(TypeError, match=r"^total_of_all\(\): incompatible function arguments"):
        extension.total_of_all([x], "1")


@pytest.mark.parametrize("name", ["total_of_either", "totals_of_either"])
def test_the_cause_of_the_refusal_of_all_alternatives(extension: Any, name: str) -> None:
    error = RuntimeError("device lost")
    x = producers.Raises(error)
    with pytest.raises(TypeError, match=r"RuntimeError: device lost$") as raised:
        getattr(extension.by_def, name)(x if name == "total_of_either" else [x])
    assert raised.value.__cause__ is error


def test_an_attribute_error_of_items(extension: Any) -> None:
    class Mapping:
        def __getitem__(self, key: str) -> Any:
            return vectors(1)[0]

        def __len__(self) -> int:
            return 1

        def keys(self) -> list[str]:
            return ["x"]

        def items(self) -> Any:
            raise AttributeError("no connection")

    with pytest.raises(TypeError, match="AttributeError: no connection") as raised:
        extension.by_def.totals_by_name(Mapping())
    assert isinstance(raised.value.__cause__, AttributeError)
