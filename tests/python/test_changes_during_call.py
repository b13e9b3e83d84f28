# SPDX-License-Identifier: BSD-3-Clause
"""Python code of a later argument frees, moves or changes the tensor of an earlier one: every kind
of parameter, each with every way to bind it and every way to change the tensor. A call returns the
sum of the tensor as it is now, or of a copy that it made before, or it refuses; it never reads
memory that the tensor has left. The session `extensions_sanitized` makes these calls under ASan."""

from __future__ import annotations

import array
import ctypes
import importlib
import importlib.util
import mmap
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from cpython_build import FREE_THREADED

import foreign
from bindings import MODULES

IS_BORROWED = not FREE_THREADED and np.lib.NumpyVersion(np.__version__) >= "2.1.0"
CHANGED = "a tensor that stays as it is during the call"
BINDINGS = ["by_def", "by_fast", "by_overloads", "by_library"]
SIZE = 2000  # elements: NumPy keeps small blocks of memory for itself


def alone(x: Any, _other: Any) -> Any:
    return x


def in_list(x: Any, other: Any) -> Any:
    return [x] if other is None else [x, other]


def in_pair(x: Any, other: Any) -> Any:
    return (x, np.ones(1) if other is None else other)


def in_dict(x: Any, other: Any) -> Any:
    return {"x": x} if other is None else {"x": x, "y": other}


class Kind(NamedTuple):
    """A kind of parameter: whether it borrows its tensor, and what puts a tensor into it, alone or
    before a producer."""

    borrows: bool
    wrap: Callable[[Any, Any], Any]


KINDS = {
    "span": Kind(True, alone),
    "span_to_write": Kind(True, alone),
    "converted_span": Kind(True, alone),
    "tensor": Kind(False, alone),
    "tensor_to_write": Kind(False, alone),
    "argument": Kind(False, alone),
    "any_tensor": Kind(False, alone),
    "any_argument": Kind(False, alone),
    "managed_tensor": Kind(False, alone),
    "convert": Kind(False, alone),
    "or_numbers_span": Kind(True, alone),
    "or_numbers_convert": Kind(False, alone),
    "or_buffer_span": Kind(True, alone),
    "or_buffer_argument": Kind(False, alone),
    "or_numbers_or_buffer": Kind(False, alone),
    "optional_span": Kind(True, alone),
    "optional_tensor": Kind(False, alone),
    "vector_of_spans": Kind(True, in_list),
    "vector_of_tensors": Kind(False, in_list),
    "vector_of_or_numbers": Kind(False, in_list),
    "array_of_two": Kind(False, in_pair),
    "tuple_of_two": Kind(False, in_pair),
    "map_of_any": Kind(False, in_dict),
    "variant": Kind(False, alone),
    "vector_of_variants": Kind(True, in_list),
    "optional_vector": Kind(False, in_list),
}
CONTAINERS = {"variant", *(name for name, kind in KINDS.items() if kind.wrap is not alone)}
WRITING = {"span_to_write", "tensor_to_write"}
CONVERTING = {"converted_span", "convert", "or_numbers_convert", "or_numbers_or_buffer"}
CONVERTING |= {"vector_of_or_numbers"}
BUFFERS = {"or_buffer_span", "or_buffer_argument", "or_numbers_or_buffer"}

NOW = "the sum of the tensor as it is now"
BEFORE = "the sum of a copy that the call made before"
REFUSED = "a refusal that says that the tensor changed"
DIFFERS = "a refusal of the tensor as it is now"
DIFFERENCES = ["dtype differs", "tensor without data"]


def of_dtype(x: Any) -> None:
    x.dtype = "float32" if x.dtype == "float64" else "int32"


def of_shape(x: Any) -> None:
    x.shape = (2, SIZE // 2)


def of_strides(x: Any) -> None:
    x.strides = (0,)
    x[0] = 2


def of_data(x: Any) -> None:
    x.data = np.full(SIZE, 3, x.dtype).data


def of_resize(size: int) -> Callable[[Any], None]:
    def change(x: Any) -> None:
        x.resize(size, refcheck=False)
        x.fill(2)

    return change


def of_state(x: Any) -> None:
    x.__setstate__((1, (SIZE,), x.dtype, False, np.full(SIZE, 2, x.dtype).tobytes()))


# Ways to change an ndarray, and what a call does then whose parameter borrows or owns the array.
ARRAY_CHANGES: dict[str, tuple[Callable[[Any], object], str, str]] = {
    "nothing": (lambda x: None, NOW, NOW),
    "elements": (lambda x: x.fill(2), NOW, NOW),
    "setflags": (lambda x: x.setflags(write=False), NOW, NOW),
    "resize to 0": (of_resize(0), NOW, REFUSED),
    "resize to less": (of_resize(SIZE // 2), NOW, REFUSED),
    "resize to more": (of_resize(4 * SIZE), NOW, REFUSED),
    "__setstate__": (of_state, NOW, REFUSED),
    "shape": (of_shape, NOW, REFUSED),
    "strides": (of_strides, NOW, REFUSED),
    "dtype": (of_dtype, REFUSED, REFUSED),
}


def can_set_data() -> bool:
    """Whether NumPy is so old that x.data = ... moves an array."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            of_data(np.ones(SIZE))
        except AttributeError:
            return False
    return True


HAS_DATA = can_set_data()
if HAS_DATA:
    ARRAY_CHANGES["data"] = (of_data, NOW, REFUSED)
TENSOR_CHANGES: dict[str, tuple[Callable[[Any], object], str, str]] = {
    "nothing": (lambda x: None, NOW, NOW),
    "elements": (lambda x: x.fill_(2), NOW, NOW),
    "set_": (lambda x: x.set_(x.new_full((SIZE,), 2)), NOW, REFUSED),
    "data": (lambda x: setattr(x, "data", x.new_full((SIZE,), 2)), NOW, REFUSED),
    "resize_": (lambda x: x.resize_(4 * SIZE).fill_(2), NOW, REFUSED),
    "unsqueeze_": (lambda x: x.unsqueeze_(0), NOW, REFUSED),
    "storage": (lambda x: x.untyped_storage().resize_(0), REFUSED, REFUSED),
}


def fails(release: Callable[[], object]) -> None:
    """The memory of an exported buffer cannot be released."""
    with pytest.raises(BufferError):
        release()


Source = tuple[Any, Callable[[Any], object]]  # a tensor, and what changes it


def of_memory(memory: Any, release: str) -> Source:
    view = memoryview(memory).cast("B").cast("d")
    np.asarray(view).fill(1)
    return view, lambda x: fails(getattr(memory, release))


def move_by_ctypes(x: Any) -> None:
    before, size = ctypes.addressof(x), ctypes.sizeof(x)
    while ctypes.addressof(x) == before:  # a block may grow in place
        size *= 4
        ctypes.resize(x, size)


# Objects with the buffer protocol, and what a call does after the change, whichever the parameter.
BUFFER_CHANGES: dict[str, tuple[Callable[[], Source], str]] = {
    "bytearray.clear": (lambda: of_memory(bytearray(8 * SIZE), "clear"), NOW),
    "array.pop": (lambda: of_memory(array.array("d", bytes(8 * SIZE)), "pop"), NOW),
    "mmap.close": (lambda: of_memory(mmap.mmap(-1, 8 * SIZE), "close"), NOW),
    "memoryview.release": (
        lambda: (memoryview(array.array("d", [1.0] * SIZE)), lambda x: fails(x.release)),
        NOW,
    ),
    "ctypes.resize": (
        lambda: ((ctypes.c_double * SIZE)(*[1.0] * SIZE), move_by_ctypes),
        REFUSED,
    ),
}


FLOAT32 = " of float32"  # at the end of the name of a change


class Changes:
    """Changes a tensor once, when its own value is read."""

    def __init__(self, change: Callable[[], object]) -> None:
        self.change: Callable[[], object] | None = change

    def run(self) -> None:
        change, self.change = self.change, None
        if change is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of NumPy: x.shape = ...
                change()


class Number(Changes):
    def __float__(self) -> float:
        self.run()
        return 1.0


class Producer(Changes):
    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **keywords: Any) -> Any:
        self.run()
        return np.ones(1).__dlpack__(**keywords)


class Case(NamedTuple):
    kind: str
    way: str
    last: type[Changes]
    within: bool  # whether that object is in the container of the tensor
    make: Callable[[], Source]
    borrowed: str  # what a call does whose parameter borrows
    owned: str
    is_read_anew: bool = True  # by each overload, without Python code


def kinds_of(binding: str) -> Iterator[tuple[str, type[Changes], bool]]:
    for name, kind in KINDS.items():
        if binding != "by_library" or name not in CONTAINERS:
            yield name, Number, False
            yield name, Producer, False
            if kind.wrap is not alone:
                yield name, Producer, True


def ones(dtype: str, change: Callable[[Any], object]) -> Callable[[], Source]:
    return lambda: (np.ones(SIZE, dtype), change)


def of_arrays(binding: str) -> Iterator[Case]:
    for name, last, within in kinds_of(binding):
        for way, (change, borrowed, owned) in ARRAY_CHANGES.items():
            if name in WRITING and way == "setflags":
                borrowed = owned = REFUSED
            if not IS_BORROWED:
                borrowed = owned
            yield Case(
                name, way, last, within, ones("float64", change), borrowed, owned, IS_BORROWED
            )
            if name in CONVERTING:
                copied = way + FLOAT32
                yield Case(name, copied, last, within, ones("float32", change), BEFORE, BEFORE)


def of_buffers(binding: str) -> Iterator[Case]:
    for name, last, within in kinds_of(binding):
        for way, (make, outcome) in BUFFER_CHANGES.items():
            if name in BUFFERS:
                yield Case(name, way, last, within, make, outcome, outcome)


def of_tensors(binding: str) -> Iterator[Case]:
    torch = pytest.importorskip("torch")

    def make(change: Callable[[Any], object]) -> Callable[[], Source]:
        return lambda: (torch.ones(SIZE, dtype=torch.float64), change)

    for name, last, within in kinds_of(binding):
        for way, (change, borrowed, owned) in TENSOR_CHANGES.items():
            if name in WRITING and FREE_THREADED:  # the exchange table does not lend these
                borrowed = owned
            yield Case(name, way, last, within, make(change), borrowed, owned)


def expected_of(module: str, binding: str, case: Case) -> str:
    if binding == "by_overloads" and case.way.endswith(FLOAT32) and case.kind not in CONTAINERS:
        # The overload that takes any tensor precedes a conversion.
        way = case.way[: -len(FLOAT32)]
        return BEFORE if way in ("nothing", "setflags") else ARRAY_CHANGES[way][2]
    if binding == "by_overloads" and case.within and REFUSED in (case.borrowed, case.owned):
        return read_anew(case) if case.is_read_anew else REFUSED
    # nanobind's own functions own the tensors of spans.
    is_owned = binding == "by_library" and module == "nanobind_extension"
    return case.borrowed if KINDS[case.kind].borrows and not is_owned else case.owned


def read_anew(case: Case) -> str:
    """Overloads refuse a container that changes while it is read, and read it once more."""
    if case.way not in ("dtype", "storage"):
        return NOW
    takes_float32 = case.kind in ("map_of_any", "vector_of_or_numbers")
    return NOW if takes_float32 and case.way == "dtype" else DIFFERS


def total(x: Any) -> float:
    return float(x.sum() if hasattr(x, "sum") else np.asarray(x).sum())


def outcome_of(functions: Any, case: Case) -> object:
    x, change = case.make()
    kind = KINDS[case.kind]
    before = total(x)
    last = case.last(lambda: change(x))
    given = kind.wrap(x, last if case.within else None)
    others = 1.0 if case.within or kind.wrap is in_pair else 0.0
    try:
        result = getattr(functions, case.kind)(given, 1.0 if case.within else last)
    except (TypeError, BufferError) as refusal:
        text = str(refusal)
        if CHANGED in text:
            return REFUSED
        return DIFFERS if any(each in text for each in DIFFERENCES) else refusal
    assert last.change is None
    if result == before + others and case.borrowed == BEFORE:
        return BEFORE
    return NOW if result == total(x) + others else result


OWNERS = {"array": of_arrays, "buffer": of_buffers, "tensor": of_tensors}


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("module", MODULES)
def test_no_call_reads_memory_that_its_tensor_has_left(
    module: str, binding: str, owner: str
) -> None:
    functions = getattr(importlib.import_module(module).changes, binding)
    wrong = []
    for case in OWNERS[owner](binding):
        outcome = outcome_of(functions, case)
        expected = expected_of(module, binding, case)
        if outcome != expected:
            wrong.append(
                f"{case.kind}, {case.way}, {case.last.__name__}: {outcome}, not {expected}"
            )
    assert not wrong, f"{len(wrong)} calls:\n" + "\n".join(wrong)


def test_the_number_of_calls_and_kinds() -> None:
    cases = [case for of in (of_arrays, of_buffers) for way in BINDINGS for case in of(way)]
    assert len(KINDS) == 26
    assert len(cases) * 2 == 5340 + HAS_DATA * 510  # of both binding libraries


@pytest.mark.parametrize("module", MODULES)
def test_the_remedy_of_the_refusal(module: str) -> None:
    functions = importlib.import_module(module).changes.by_def
    x = np.ones(SIZE)
    last = Number(lambda: x.resize(0, refcheck=False))
    with pytest.raises(TypeError, match=r"while another argument was imported\. Pass a copy of it"):
        functions.tensor(x, last)
    x = np.ones(SIZE)
    last = Number(lambda: x.resize(0, refcheck=False))
    assert functions.tensor(x.copy(), last) == SIZE


class Refused(Producer):
    """Has a table that refuses its objects, so that __dlpack__ is called."""

    __dlpack_c_exchange_api__ = foreign.exchange_capsule(
        foreign.exchange_table(failing=["lend", "give"])
    )


@pytest.mark.parametrize("way", BINDINGS)
@pytest.mark.parametrize("kind", ["tensor", "argument"])
@pytest.mark.parametrize("module", MODULES)
def test_a_table_that_refuses_a_later_argument(module: str, kind: str, way: str) -> None:
    function = getattr(getattr(importlib.import_module(module).changes, way), kind)
    x = np.ones(SIZE)
    with pytest.raises((TypeError, BufferError), match=CHANGED):
        function(x, Refused(lambda: x.resize(0, refcheck=False)))
    assert function(np.ones(SIZE), Refused(lambda: None)) == SIZE
