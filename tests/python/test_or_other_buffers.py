# SPDX-License-Identifier: BSD-3-Clause
"""or_other<P, buffers> of the C++ headers: parameters that accept Python buffers beside DLPack
producers."""

from __future__ import annotations

import array
import ctypes
import gc
import mmap
import sys
from typing import Any

import numpy as np
import pytest
from test_signatures import BINDINGS, module_of

import dlbridge


@pytest.fixture(params=BINDINGS)
def extension(request: pytest.FixtureRequest) -> Any:
    return module_of(request.param)


@pytest.fixture(params=[each for each in BINDINGS if each != "fast"])
def by_def(request: pytest.FixtureRequest) -> Any:
    return module_of(request.param)


def mapped(content: bytes) -> mmap.mmap:
    memory = mmap.mmap(-1, len(content))
    memory.write(content)
    return memory


BUFFERS = [
    b"\1\2\3",
    bytearray(b"\1\2\3"),
    memoryview(b"\1\2\3"),
    memoryview(b"\1_\2_\3_")[::2],
    memoryview(b"\3\2\1")[::-1],
    array.array("B", [1, 2, 3]),
    (ctypes.c_uint8 * 3)(1, 2, 3),
    mapped(b"\1\2\3"),
]


@pytest.mark.parametrize("buffer", BUFFERS, ids=lambda x: type(x).__name__)
def test_each_kind_of_buffer(extension: Any, buffer: Any) -> None:
    assert extension.sum_bytes(buffer) == 6
    assert extension.checksum(x=buffer) == (31 * 31 + 2 * 31 + 3)
    assert extension.sum_buffer_or_zero(buffer) == 6
    assert extension.sum_buffers([buffer, buffer, b"", np.ones(2, np.uint8)]) == 14
    assert extension.sum_converted_buffer(buffer) == 6
    assert extension.kind_of_buffer(buffer) == 0
    assert extension.count_bits(buffer) == 24


@pytest.mark.parametrize("date", [np.datetime64("2020-01-01"), np.timedelta64(300, "s")])
def test_a_date_is_no_buffer(extension: Any, date: Any) -> None:
    for function in (extension.sum_bytes, extension.sum_converted_buffer):
        with pytest.raises(TypeError, match=r"numbers in native byte order; got '<[Mm]8"):
            function(date)


def test_producers_are_accepted_as_before(extension: Any) -> None:
    x = np.array([1, 2, 3], np.uint8)
    assert extension.sum_bytes(x) == extension.sum_bytes(dlbridge.from_dlpack(x)) == 6
    assert extension.sum_buffer_or_zero(None) == 0
    assert extension.kind_of_buffer("text") == 1
    result = extension.double_buffer(np.array([1.0, 2]))
    assert isinstance(result, np.ndarray) and result.tolist() == [2, 4]


def test_an_object_with_dlpack_is_no_buffer(extension: Any) -> None:
    class Producer(bytearray):
        def __dlpack__(self, **keywords: Any) -> Any:
            return np.array([7], np.uint8).__dlpack__()

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    assert extension.sum_bytes(Producer(b"\1\2\3")) == 7


def test_the_memory_is_written(extension: Any) -> None:
    for x in (array.array("d", [1, 2]), memoryview(array.array("d", [1, 2]))):
        extension.double_all(x)
        assert x.tolist() == [2, 4]


def test_the_result_owns_the_buffer(extension: Any) -> None:
    x = bytearray(b"\1\2")
    result = extension.same_buffer(x)
    assert type(result) is np.ndarray
    assert result.tolist() == [1, 2] and result.flags.writeable
    assert not extension.same_buffer(b"\1").flags.writeable
    assert extension.kept_buffer(b"\1").tolist() == [1]
    with pytest.raises(BufferError):
        x.append(3)
    x[0] = 5
    assert result.tolist() == [5, 2]
    del result
    gc.collect()
    x.append(3)
    assert extension.double_buffer(array.array("d", [1, 2])).tolist() == [2, 4]


def test_a_call_releases_the_buffer(extension: Any) -> None:
    x = bytearray(b"\1\2")
    before = sys.getrefcount(x)
    extension.sum_bytes(x)
    x.append(3)
    with pytest.raises(TypeError):
        extension.double_all(x)
    x.append(4)
    assert sys.getrefcount(x) == before


@pytest.mark.parametrize(
    ("function", "argument", "text"),
    [
        ("double_all", memoryview(array.array("d", [1])).toreadonly(), "writability differs"),
        ("sum_bytes", array.array("d", [1]), "got float64[1] on cpu: dtype differs"),
        ("sum_bytes", memoryview(b"\1\2").cast("B", (1, 2)), "got uint8[1, 2] on cpu: rank"),
        ("sum_bytes", memoryview(b"abc").cast("c"), "expected a buffer of one native number"),
        ("sum_bytes", "abc", "__dlpack_device__, or a buffer; got one of type str"),
        ("sum_bytes", [1, 2], "__dlpack_device__, or a buffer; got one of type list. Pass numpy"),
        ("sum_buffers", [b"\1", array.array("i", [1])], "argument 'xs', element 1: expected uint8"),
    ],
)
def test_refusals(extension: Any, function: str, argument: Any, text: str) -> None:
    with pytest.raises(TypeError) as raised:
        getattr(extension, function)(argument)
    assert text in str(raised.value)


def test_a_list_to_write_is_refused_with_what_to_keep(extension: Any) -> None:
    """What the function wrote to an array that nobody keeps would be lost."""
    keep = "Pass an array that you keep, as y = numpy.array(x), to which the function writes"
    for x, accepted in (([1.0, 2.0], ", or a buffer"), ((1.0, 2.0), ", or a buffer")):
        with pytest.raises(TypeError) as raised:
            extension.double_all(x)
        assert str(raised.value).endswith(f"{accepted}; got one of type {type(x).__name__}. {keep}")
        y = np.array(x)
        extension.double_all(y)
        assert y.tolist() == [2, 4]
    with pytest.raises(TypeError, match=r"__dlpack_device__; got one of type list\. Pass an array"):
        extension.fill([1.0], 3.0)
    with pytest.raises(TypeError, match=r"argument 'x': BufferError: expected a dtype"):
        extension.fill(np.ones(2, np.dtype("f4").newbyteorder()), 3.0)
    with pytest.raises(TypeError, match=r"Pass numpy\.frombuffer\(\) of it, with its dtype"):
        extension.fill(b"abc", 3.0)
    with pytest.raises(TypeError, match=r"dtype, writability differ\. Pass a writable copy$"):
        extension.double_all(b"abc")  # numpy.array(x) is a text


def test_another_byte_order(extension: Any) -> None:
    x = np.ones(2, np.dtype("u2").newbyteorder())
    with pytest.raises(
        TypeError, match=r"native byte order; got '\Wu2', in another byte order: "
    ) as r:
        extension.sum_converted_buffer(x)
    assert str(r.value).endswith("Pass x.astype(x.dtype.newbyteorder('='))")
    assert extension.sum_converted_buffer(x.astype(x.dtype.newbyteorder("="))) == 2


def test_a_used_capsule_is_refused_as_such(extension: Any) -> None:
    for function in (extension.sum_bytes, extension.sum_converted_buffer):
        capsule = np.ones(3, "u1").__dlpack__()
        assert function(capsule) == 3
        with pytest.raises(TypeError, match=r"ValueError: capsule already used: .* ask the produ"):
            function(capsule)


def test_a_refusal_of_every_overload_names_buffers(by_def: Any) -> None:
    with pytest.raises(TypeError) as raised:
        by_def.kind_of("abc")
    assert str(raised.value).count("__dlpack_device__, or a buffer; got one of type str") == 1


def test_a_released_memoryview_is_refused_with_its_reason(extension: Any) -> None:
    view = memoryview(b"\1")
    view.release()
    with pytest.raises(TypeError, match="released memoryview"):
        extension.sum_bytes(view)


def test_names_of_extents(extension: Any) -> None:
    assert extension.count_both(b"\1\2", np.ones(2, np.float32)) == 4
    with pytest.raises(TypeError, match="with n = 2 as in 'x'"):
        extension.count_both(b"\1\2", np.ones(3, np.float32))


def test_signatures_name_the_buffer(extension: Any) -> None:
    buffer = "typing_extensions.Buffer" if sys.version_info < (3, 12) else "collections.abc.Buffer"
    annotation = f'typing.Annotated[SupportsDLPack | {buffer}, "uint8['
    assert annotation in extension.sum_bytes.__doc__


def test_overloads(by_def: Any) -> None:
    assert by_def.kind_of(b"\1") == "bytes"
    assert by_def.kind_of(np.ones(1, np.uint8)) == "bytes"
    assert by_def.kind_of(array.array("d", [1])) == "doubles"
    with pytest.raises(TypeError, match="no overload takes these arguments"):
        by_def.kind_of(array.array("f", [1]))


def test_plain_functions(by_def: Any) -> None:
    assert by_def.plain_sum_bytes(b"\1\2") == by_def.plain_sum_bytes(np.ones(3, np.uint8)) == 3
    assert by_def.plain_sum_bytes_or_zero(b"\1\2") == 3
    assert by_def.plain_sum_bytes_or_zero(None) == 0
    with pytest.raises(TypeError, match="incompatible function arguments"):
        by_def.plain_sum_bytes("text")
