"""Overload sets: the first that fits, tensors imported once, and every reason given."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import dlbridge
import extension
from bindings import freed_once
from producers import Producer, Raises

FLOAT32, FLOAT64, INT64 = (
    f'typing.Annotated[dlbridge.typing.SupportsDLPack, "{dtype}[*] on cpu"]'
    for dtype in ("float32", "float64", "int64")
)
SIGNATURES = [
    f"1. kind(x: {FLOAT32}) -> str",
    f"2. kind(x: {FLOAT64}) -> str",
    f"3. kind(x: {INT64}, n: typing.SupportsInt | typing.SupportsIndex) -> str",
    f"4. kind(x: {INT64}, y: {FLOAT32}) -> str",
]
OTHER_ARGUMENTS = "the arguments are not those of this signature"


def vector(code: int = 2, bits: int = 32, **fields: Any) -> Producer:
    return Producer(**{"shape": (3,), "dtype": (code, bits, 1), **fields})


def reasons(*each: str) -> str:
    listed = "\n".join(f"{signature}\n  {why}" for signature, why in zip(SIGNATURES, each))
    return f"kind(): no overload takes these arguments:\n{listed}"


def test_the_first_that_fits_is_called() -> None:
    assert extension.kind(vector()) == "float32"
    assert extension.kind(vector(2, 64)) == "float64"
    assert extension.kind(vector(0, 64), 3) == "int64 and n"
    assert extension.kind(vector(0, 64), vector()) == "two"
    assert extension.kind(y=vector(), x=vector(0, 64)) == "two"
    assert extension.kind(n=3, x=vector(0, 64)) == "int64 and n"


@pytest.mark.parametrize(
    "given",
    [
        (vector(),),
        (vector(2, 64),),
        (vector(0, 64), 3),
        (vector(0, 64), vector()),
        (vector(4, 16),),
        (vector(0, 64), vector(2, 64)),
        (vector(), vector()),
        (vector(data=None),),
        (vector(version=(2, 0)),),
        (vector(device=(2, 0)), 3),
    ],
    ids=lambda given: "-".join(type(each).__name__ for each in given),
)
def test_each_tensor_is_imported_and_freed_once(given: tuple[Any, ...]) -> None:
    try:
        extension.kind(*given)
    except TypeError as why:
        assert str(why).startswith("kind(): no overload")
        del why
    assert freed_once(*[each for each in given if isinstance(each, Producer)])


def test_the_same_object_twice_is_two_arguments() -> None:
    p = vector(0, 64)
    with pytest.raises(TypeError) as raised:
        extension.kind(p, p)
    assert str(raised.value) == reasons(
        *[OTHER_ARGUMENTS] * 3,
        "argument 'y': expected float32[*] on cpu; got int64[3] on cpu: dtype differs",
    )
    assert (p.exports, p.calls) == ([1, 1], [1, 1])


def test_every_reason() -> None:
    with pytest.raises(TypeError) as raised:
        extension.kind(vector(4, 16))
    assert str(raised.value) == reasons(
        "argument 'x': expected float32[*] on cpu; got bfloat16[3] on cpu: dtype differs",
        "argument 'x': expected float64[*] on cpu; got bfloat16[3] on cpu: dtype differs",
        OTHER_ARGUMENTS,
        OTHER_ARGUMENTS,
    )
    assert raised.value.__cause__ is None


def test_reasons_of_several_arguments() -> None:
    with pytest.raises(TypeError) as raised:
        extension.kind(vector(shape=()), vector(shape=(2, 2)))
    assert str(raised.value) == reasons(
        *[OTHER_ARGUMENTS] * 3,
        "argument 'x': expected int64[*] on cpu; got float32[] on cpu: dtype, rank differ\n"
        "  argument 'y': expected float32[*] on cpu; got float32[2, 2] on cpu: rank differs",
    )


@pytest.mark.parametrize("given", [(), (1, 2, 3), ("x", "y", "z")])
def test_no_arguments_of_any(given: Any) -> None:
    with pytest.raises(TypeError) as raised:
        extension.kind(*given)
    assert str(raised.value) == reasons(*[OTHER_ARGUMENTS] * 4)


def test_a_producer_that_raises_is_asked_once() -> None:
    p = Raises(RuntimeError("boom"))
    with pytest.raises(TypeError) as raised:
        extension.kind(p)
    said = "argument 'x': RuntimeError: boom"
    assert str(raised.value) == reasons(said, said, OTHER_ARGUMENTS, OTHER_ARGUMENTS)
    assert raised.value.__cause__ is p.exception
    assert len(p.requests) == 1


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), SystemExit(), MemoryError()])
def test_what_is_no_refusal_ends_the_call(raised: BaseException) -> None:
    p = Raises(raised)
    with pytest.raises(type(raised)) as seen:
        extension.kind(p)
    assert (seen.value, len(p.requests)) == (raised, 1)


def test_a_type_error_of_the_body_is_its_own() -> None:
    p = vector()
    with pytest.raises(TypeError, match=r"^of the body's$"):
        extension.first_throws(p)
    assert freed_once(p)


def test_a_body_that_calls_another_set() -> None:
    assert extension.nested(vector(), vector(2, 64)) == "float64"
    assert extension.nested(vector(2, 64), vector(2, 64)) is None
    with pytest.raises(TypeError, match=r"^kind\(\): no overload"):
        extension.nested(vector(), vector(2, 16))


def test_a_producer_that_calls_the_set_itself() -> None:
    class Nesting(Producer):
        def __dlpack__(self, **keywords: Any) -> object:
            assert extension.kind(vector(0, 64), 3) == "int64 and n"
            return super().__dlpack__(**keywords)

    p = Nesting(shape=(3,), dtype=(2, 64, 1))
    assert extension.kind(p) == "float64"
    assert freed_once(p)


def test_methods() -> None:
    image = extension.Image(2, 3)
    with pytest.raises(TypeError) as raised:
        image.add(Producer(dtype=(2, 16, 1)))
    each = (
        "{n}. add(self: extension.Image, other: "
        'typing.Annotated[dlbridge.typing.SupportsDLPack, "{dtype}[*, *] on cpu"]) '
        "-> extension.Image\n"
        "  argument 'other': expected {dtype}[*, *] on cpu; got float16[2, 3] on cpu: dtype differs"
    )
    listed = "\n".join(each.format(n=i + 1, dtype=d) for i, d in enumerate(("float32", "float64")))
    assert str(raised.value) == f"add(): no overload takes these arguments:\n{listed}"


def test_our_own_tensor() -> None:
    p = vector(0, 64)
    t = dlbridge.from_dlpack(p)
    assert extension.kind(t, 1) == "int64 and n"
    assert p.calls == [0]
    del t
    assert freed_once(p)


def test_docstring_lists_the_signatures() -> None:
    assert extension.kind.__name__ == "kind"
    lines = extension.kind.__doc__.splitlines()
    assert lines[:2] == ["kind(*args, **kwargs)", "Overloaded function."]
    assert [line for line in lines[2:] if line] == SIGNATURES


def test_what_def_did_not_make_gets_no_overload() -> None:
    words = "^taken is there already, and was not made by dlbridge::def; an overload can only be"
    with pytest.raises(TypeError, match=words):
        extension.overload_of_anothers(extension.fast)
    del extension.fast.taken


def test_many_threads() -> None:
    def work() -> None:
        for _ in range(200):
            if extension.kind(vector(0, 64), 1) != "int64 and n":
                wrong.append(1)

    wrong: list[int] = []
    threads = [threading.Thread(target=work) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []
