# SPDX-License-Identifier: BSD-3-Clause
"""Overload sets: a call selects the first candidate that accepts the arguments, imports each tensor
once, and reports the reason of every refusal."""

from __future__ import annotations

import operator
import os
import pickle
import subprocess
import sys
import threading
from typing import Any

import pytest

import dlbridge
from bindings import freed_once
from producers import Producer, Raises

FLOAT32, FLOAT64, INT64 = (
    f'typing.Annotated[SupportsDLPack, "{dtype}[*] on cpu"]'
    for dtype in ("float32", "float64", "int64")
)
INTEGER = {"extension": "typing.SupportsInt | typing.SupportsIndex", "nanobind_extension": "int"}
TOO_MANY = "takes 1 argument, not 2"
NOT_N = "the arguments are not those of this signature"


def vector(code: int = 2, bits: int = 32, **fields: Any) -> Producer:
    return Producer(**{"shape": (3,), "dtype": (code, bits, 1), **fields})


def signatures(extension: Any) -> list[str]:
    return [
        f"kind(x: {FLOAT32}) -> str",
        f"kind(x: {FLOAT64}) -> str",
        f"kind(x: {INT64}, n: {INTEGER[extension.__name__]}) -> str",
        f"kind(x: {INT64}, y: {FLOAT32}) -> str",
    ]


def message(extension: Any, *reasons: str) -> str:
    """One reason of candidates in a row follows the last of them."""
    lines = ["kind(): no overload takes these arguments:"]
    followers = (*reasons[1:], None)
    for i, (signature, reason) in enumerate(zip(signatures(extension), reasons)):
        lines += [f"{i + 1}. {signature}", *([f"  {reason}"] if reason != followers[i] else [])]
    return "\n".join(lines)


def test_the_first_candidate_that_fits_is_called(extension: Any) -> None:
    assert extension.kind(vector()) == "float32"
    assert extension.kind(vector(2, 64)) == "float64"
    assert extension.kind(vector(0, 64), 3) == "int64 and n"
    assert extension.kind(vector(0, 64), vector()) == "two"
    assert extension.kind(y=vector(), x=vector(0, 64)) == "two"
    assert extension.kind(n=3, x=vector(0, 64)) == "int64 and n"


@pytest.mark.parametrize(
    "make",
    [
        lambda: (vector(),),
        lambda: (vector(2, 64),),
        lambda: (vector(0, 64), 3),
        lambda: (vector(0, 64), vector()),
        lambda: (vector(4, 16),),
        lambda: (vector(0, 64), vector(2, 64)),
        lambda: (vector(), vector()),
        lambda: (vector(data=None),),
        lambda: (vector(version=(2, 0)),),
        lambda: (vector(device=(2, 0)), 3),
    ],
)
def test_each_tensor_is_imported_and_freed_once(extension: Any, make: Any) -> None:
    args = make()
    try:
        extension.kind(*args)
    except TypeError as error:
        assert str(error).startswith("kind(): no overload")
        del error
    assert freed_once(*[each for each in args if isinstance(each, Producer)])


def test_a_capsule_is_consumed_once(extension: Any) -> None:
    p = vector(0, 64)
    capsule = p.__dlpack__(max_version=(1, 0))
    assert extension.kind(capsule, 3) == "int64 and n"
    with pytest.raises(TypeError, match=r"argument 'x': expected float32"):
        extension.kind(vector(4, 16).__dlpack__(max_version=(1, 0)))
    del capsule
    assert freed_once(p)


def test_the_same_object_twice_is_two_arguments(extension: Any) -> None:
    p = vector(0, 64)
    with pytest.raises(TypeError) as raised:
        extension.kind(p, p)
    assert str(raised.value) == message(
        extension,
        TOO_MANY,
        TOO_MANY,
        NOT_N,
        "argument 'y': expected float32[*] on cpu; got int64[3] on cpu: dtype differs",
    )
    assert (p.exports, p.calls) == ([1], [1])


def test_the_reason_of_every_candidate(extension: Any) -> None:
    with pytest.raises(TypeError) as raised:
        extension.kind(vector(4, 16))
    assert str(raised.value) == message(
        extension,
        "argument 'x': expected float32[*] on cpu; got bfloat16[3] on cpu: dtype differs",
        "argument 'x': expected float64[*] on cpu; got bfloat16[3] on cpu: dtype differs",
        "is missing argument 'n'",
        "is missing argument 'y'",
    )
    assert raised.value.__cause__ is None


def test_reasons_of_several_arguments(extension: Any) -> None:
    with pytest.raises(TypeError) as raised:
        extension.kind(vector(shape=()), vector(shape=(2, 2)))
    assert str(raised.value) == message(
        extension,
        TOO_MANY,
        TOO_MANY,
        "argument 'x': expected int64[*] on cpu; got float32[] on cpu: dtype, rank differ",
        "argument 'x': expected int64[*] on cpu; got float32[] on cpu: dtype, rank differ\n"
        "  argument 'y': expected float32[*] on cpu; got float32[2, 2] on cpu: rank differs",
    )


@pytest.mark.parametrize(
    ("args", "named", "reasons"),
    [
        ((), {}, ["is missing argument 'x'"] * 4),
        ((1, 2, 3), {}, [f"takes {n} argument{'s' * (n > 1)}, not 3" for n in (1, 1, 2, 2)]),
        ((), {"z": 1}, ["got an unexpected keyword argument 'z'"] * 4),
    ],
)
def test_arguments_that_no_candidate_has(
    extension: Any, args: Any, named: Any, reasons: list[str]
) -> None:
    with pytest.raises(TypeError) as raised:
        extension.kind(*args, **named)
    assert str(raised.value) == message(extension, *reasons)


def test_reasons_that_are_found_afterwards_import_nothing_twice(extension: Any) -> None:
    """The third candidate refuses its int first: its tensor is that of the fourth."""
    x, y = vector(0, 64), vector(2, 64)
    with pytest.raises(TypeError) as raised:
        extension.kind(x, y)
    assert f"\n  {NOT_N}\n" in str(raised.value)
    assert len(x.requests) == len(y.requests) == 1
    del raised
    assert freed_once(x, y)


def test_dlpack_of_a_producer_that_raises_is_called_once(extension: Any) -> None:
    p = Raises(RuntimeError("boom"))
    with pytest.raises(TypeError) as raised:
        extension.kind(p)
    reason = "argument 'x': RuntimeError: boom"
    assert str(raised.value) == message(
        extension, reason, reason, "is missing argument 'n'", "is missing argument 'y'"
    )
    assert raised.value.__cause__ is p.exception
    assert len(p.requests) == 1


@pytest.mark.parametrize("exception", [KeyboardInterrupt(), SystemExit(), MemoryError()])
def test_an_exception_that_is_no_refusal_ends_the_call(
    extension: Any, exception: BaseException
) -> None:
    p = Raises(exception)
    with pytest.raises(type(exception)) as raised:
        extension.kind(p)
    assert (raised.value, len(p.requests)) == (exception, 1)


def test_a_type_error_of_the_function_ends_the_call(extension: Any) -> None:
    p = vector()
    with pytest.raises(TypeError, match=r"^of the function itself$"):
        extension.first_throws(p)
    assert freed_once(p)


def test_a_function_that_calls_another_overload_set(extension: Any) -> None:
    assert extension.nested(vector(), vector(2, 64)) == "float64"
    assert extension.nested(vector(2, 64), vector(2, 64)) is None
    with pytest.raises(TypeError, match=r"^kind\(\): no overload"):
        extension.nested(vector(), vector(2, 16))


def test_a_producer_that_calls_the_overload_set(extension: Any) -> None:
    class Nesting(Producer):
        def __dlpack__(self, **keywords: Any) -> object:
            assert extension.kind(vector(0, 64), 3) == "int64 and n"
            return super().__dlpack__(**keywords)

    p = Nesting(shape=(3,), dtype=(2, 64, 1))
    assert extension.kind(p) == "float64"
    assert freed_once(p)


def test_methods(extension: Any) -> None:
    image = extension.Image(2, 3)
    with pytest.raises(TypeError) as raised:
        image.add(Producer(dtype=(2, 16, 1)))
    line = (
        "{n}. add({self}, other: "
        'typing.Annotated[SupportsDLPack, "{dtype}[*, *] on cpu"]) '
        "-> {module}.Image\n"
        "  argument 'other': expected {dtype}[*, *] on cpu; got float16[2, 3] on cpu: dtype differs"
    )
    module = extension.__name__
    own = "self: extension.Image" if module == "extension" else "self"
    lines = "\n".join(
        line.format(n=i + 1, dtype=dtype, module=module, self=own)
        for i, dtype in enumerate(("float32", "float64"))
    )
    assert str(raised.value) == f"add(): no overload takes these arguments:\n{lines}"


def test_a_tensor_of_dlbridge(extension: Any) -> None:
    p = vector(0, 64)
    t = dlbridge.from_dlpack(p)
    assert extension.kind(t, 1) == "int64 and n"
    assert p.calls == [0]
    del t
    assert freed_once(p)


def test_the_docstring_lists_the_signatures(extension: Any) -> None:
    assert extension.kind.__name__ == "kind"
    lines = [line for line in extension.kind.__doc__.splitlines() if line]
    if extension.__name__ == "extension":
        assert lines[:2] == ["kind(*args, **kwargs)", "Overloaded function."]
        lines = [line.partition(". ")[2] for line in lines[2:]]
    assert lines == signatures(extension)


def test_def_adds_an_overload_to_a_plain_function(extension: Any) -> None:
    extension.add_overload_to_plain_function(extension.fast)
    assert extension.fast.occupied() is None
    assert extension.fast.occupied(vector()) is None
    with pytest.raises(TypeError, match="argument 1: not a DLPack producer"):
        extension.fast.occupied("text")
    del extension.fast.occupied


def test_many_threads(extension: Any) -> None:
    def work() -> None:
        for _ in range(200):
            if extension.kind(vector(0, 64), 1) != "int64 and n":
                failures.append(1)

    failures: list[int] = []
    threads = [threading.Thread(target=work) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert failures == []


@pytest.mark.parametrize("name", ["kind", "fast.dot"])
def test_functions_are_pickled_by_name(extension: Any, name: str) -> None:
    """Another process imports the module, and finds the function. Those of nanobind stay."""
    if (extension.__name__, name) == ("nanobind_extension", "kind"):
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(extension.kind)
        return
    function = operator.attrgetter(name)(extension)
    pickled = pickle.dumps(function)
    assert pickle.loads(pickled) is function
    program = "import pickle, sys; print(pickle.loads(bytes.fromhex(sys.argv[1])).__name__)"
    command = [sys.executable, "-c", program, pickled.hex()]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.check_output(command, env=environment, text=True)
    assert found.strip() == function.__name__


def test_one_reason_of_several_candidates_is_stated_once(extension: Any) -> None:
    with pytest.raises(TypeError) as raised:
        extension.kind(object())
    text = str(raised.value)
    assert text.count("argument 'x': not a DLPack producer") == 1
    first, second, *_ = signatures(extension)
    assert f"1. {first}\n2. {second}\n  argument 'x': not a DLPack producer" in text
