# SPDX-License-Identifier: BSD-3-Clause
"""NumPy arrays as arguments of an extension: subclasses, flags, strides and dtypes."""

from __future__ import annotations

import gc
import os
import random
import struct
import subprocess
import sys
import textwrap
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from bindings import BINDINGS, DETAILED, freed_once, function
from producers import Producer
from test_numpy import NEW, OTHER_ARRAYS, other_array, remedy_in

# Whether results are created by the C API of NumPy, and not by its from_dlpack.
DIRECT = os.environ.get("DLBRIDGE_PROTOCOL_ONLY", "0") in ("", "0")


@pytest.mark.parametrize(
    "name", ["span_to_read", "span_to_write", "owned", "doubled", "any_tensor"]
)
@pytest.mark.parametrize("binding", BINDINGS)
def test_masked_elements_are_refused(binding: str, name: str) -> None:
    f = function(binding, name)
    x = np.ma.array(vector(1, 2, 3), mask=[False, True, False])
    for _ in range(2):  # the second time, the type is cached
        with pytest.raises(TypeError) as raised:
            f(x)
        if binding in DETAILED:
            text = "Pass x.filled(value), or x.data to ignore the mask"
            assert str(raised.value).endswith(text)
        for unmasked in (x.filled(0), x.data, x[:1], np.ma.array(vector(1, 2))):
            f(unmasked)


class Sub(np.ndarray[Any, Any]):
    pass


class WithMethod(np.ndarray[Any, Any]):
    def __dlpack__(self, **keywords: Any) -> Any:
        return super().__dlpack__(**keywords)


def vector(*values: float) -> Any:
    return np.array(values, dtype=np.float32)


@pytest.mark.parametrize("binding", BINDINGS)
def test_the_result_for_a_subclass_is_an_ndarray(binding: str) -> None:
    x = vector(1, 2, 3).view(Sub)
    assert function(binding, "owned")(x) == x.ctypes.data
    assert type(function(binding, "doubled")(x)) is np.ndarray


@pytest.mark.parametrize("binding", BINDINGS)
def test_empty_like_returns_an_array_that_owns_its_memory(binding: str) -> None:
    doubled = function(binding, "doubled")(vector(1, 2))
    assert (doubled.flags.owndata, doubled.flags.writeable) == (True, True)


@pytest.mark.parametrize("binding", DETAILED)
def test_read_only_arrays(binding: str) -> None:
    x = vector(1, 2)
    x.flags.writeable = False
    assert function(binding, "span_to_read")(x) == x.ctypes.data
    with pytest.raises(TypeError, match=r"read-only: writability differs. Pass an array that you"):
        function(binding, "span_to_write")(x)
    result = function(binding, "same")(x)
    assert not result.flags.writeable


@pytest.mark.parametrize("name", ["span_to_read", "owned", "argument", "any_tensor"])
@pytest.mark.parametrize("binding", DETAILED)
@pytest.mark.parametrize("kind", OTHER_ARRAYS)
def test_arrays_that_numpy_does_not_export(kind: str, binding: str, name: str) -> None:
    x = other_array(kind)
    with pytest.raises(TypeError) as raised:
        function(binding, name)(x)
    message = str(raised.value)
    assert message.startswith(f"{name}(): argument 'x': BufferError: expected a dtype of numbers")
    remedy = remedy_in(message, kind.startswith("labels"))
    passed = eval(remedy, {"numpy": np, "x": x}).real.astype("float32")
    assert isinstance(function(binding, name)(passed), int)


@pytest.mark.parametrize("binding", DETAILED)
def test_fields_of_packed_records_are_copied_by_the_caller(binding: str) -> None:
    x = np.array([(1, 2.5), (3, 4.5)], [("a", "i1"), ("b", "f4")])["b"]
    with pytest.raises(TypeError, match="multiples of the item size of 4 bytes") as raised:
        function(binding, "sum")(x)
    assert function(binding, "sum")(eval(remedy_in(str(raised.value)), {"numpy": np, "x": x})) == 7


@pytest.mark.parametrize("binding", DETAILED)
def test_misaligned_arrays_are_refused(binding: str) -> None:
    x = np.zeros(13, dtype=np.uint8)[1:].view(np.float32)
    with pytest.raises(TypeError, match=r"1 byte: alignment differs\. Pass an aligned copy$"):
        function(binding, "span_to_read")(x)


@pytest.mark.parametrize(
    "x",
    [
        vector(1, 2, 3)[::-1],
        np.lib.stride_tricks.as_strided(vector(2), (3,), (0,)),
        np.asfortranarray(np.ones((3, 2), np.float32))[:, 1],
    ],
)
def test_strides(x: Any) -> None:
    assert {function(binding, "sum")(x) for binding in BINDINGS} == {x.sum()}


def random_array(pick: random.Random, dtype: str) -> Any:
    """An array of random rank, sliced, transposed and broadcast at random, possibly read-only."""
    order: Any = pick.choice("CF")
    x = np.zeros([pick.randrange(6) for _ in range(pick.randrange(5))], dtype, order)
    for axis, extent in enumerate(x.shape):
        start, step = pick.randrange(extent + 1), pick.choice([-3, -2, -1, 1, 1, 2, 3])
        x = x[(slice(None),) * axis + (slice(start, None, step),)]
    x = x.transpose(pick.sample(range(x.ndim), x.ndim))
    if pick.random() < 0.2:
        x = np.lib.stride_tricks.as_strided(x, (3, *x.shape), (0, *x.strides))
    if NEW and pick.random() < 0.2:
        x.flags.writeable = False
    return x


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "complex128"])
def test_the_layout_of_random_arrays(extension: Any, dtype: str) -> None:
    """By the fields of an ndarray and of a derived class, and by a method __dlpack__."""
    pick = random.Random(dtype)
    for _ in range(1000):
        x = random_array(pick, dtype)
        for array in (x, x.view(Sub), x.view(WithMethod)):
            address, extents, strides = extension.describe(array)
            assert tuple(extents) == x.shape
            if x.size:
                assert address == x.ctypes.data
                layout = zip(x.shape, x.strides, strides)
                assert all(n == 1 or b == s * x.itemsize for n, b, s in layout)


@pytest.mark.parametrize("dtype", ["object", "U3", "M8[s]", "f4,f4"])
@pytest.mark.parametrize("binding", DETAILED)
def test_the_exception_of_numpy_is_the_cause(binding: str, dtype: str) -> None:
    x: Any = np.zeros(2, dtype=dtype)
    with pytest.raises(TypeError) as raised:
        function(binding, "sum")(x)
    cause = raised.value.__cause__
    assert isinstance(cause, (BufferError, TypeError))
    assert str(raised.value) == f"sum(): argument 'x': {type(cause).__name__}: {cause}"


def test_a_function_writes_to_the_array(extension: Any) -> None:
    x = vector(1, 2, 3)
    extension.scale(x[::2], 10)
    assert x.tolist() == [10, 2, 30]


def test_numpy_imports_a_class_of_an_extension(extension: Any) -> None:
    image = extension.Image(2, 3)
    x = np.from_dlpack(image)
    image.fill(7)
    del image
    assert x.tolist() == [[7, 7, 7], [7, 7, 7]]
    assert x.flags.writeable is NEW
    if NEW:
        assert not np.from_dlpack(extension.Constant()).flags.writeable
    else:
        with pytest.raises(BufferError, match="read-only"):
            np.from_dlpack(extension.Constant())


class Dims(NamedTuple):
    """Extents, strides in elements, and the byte offset of the first element."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    byte_offset: int = 0


# DLPack's code and bits, and NumPy's scalar type.
DTYPES: list[tuple[int, int, Any]] = [
    *((0, 8 << i, t) for i, t in enumerate((np.int8, np.int16, np.int32, np.int64))),
    *((1, 8 << i, t) for i, t in enumerate((np.uint8, np.uint16, np.uint32, np.uint64))),
    *((2, 16 << i, t) for i, t in enumerate((np.float16, np.float32, np.float64))),
    *((5, 64 << i, t) for i, t in enumerate((np.complex64, np.complex128))),
    (6, 8, np.bool_),
]


@pytest.mark.parametrize(("code", "bits", "scalar"), DTYPES)
def test_a_result_has_the_dtype_of_numpy(extension: Any, code: int, bits: int, scalar: Any) -> None:
    x = extension.as_ndarray(Producer(dtype=(code, bits, 1), shape=(3,)))
    assert type(x) is np.ndarray
    assert x.dtype is np.dtype(scalar)
    assert np.issubdtype(x.dtype, scalar) and x.dtype.char == np.dtype(scalar).char


LAYOUTS = [
    Dims((), ()),
    Dims((6,), (1,)),
    Dims((2, 3), (3, 1)),
    Dims((3, 2), (1, 3)),
    Dims((2,), (-3,), 12),
    Dims((3, 2), (0, 1)),
    Dims((1, 3), (1 << 40, 1)),
    Dims((2, 2), (3, 1), 4),
    Dims((0, 3), (3, 1)),
    Dims((1,) * 9 + (2,), (1,) * 10),
    Dims((1,) * 32, (1,) * 32),
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("readonly", [False, True])
def test_a_result_describes_the_memory(extension: Any, layout: Dims, readonly: bool) -> None:
    if readonly and not (NEW or DIRECT):
        pytest.skip("NumPy before 2.1 refuses read-only memory")
    values = struct.pack("<6i", *range(10, 16))
    p = Producer(dtype=(0, 32, 1), fill=values, flags=int(readonly), **layout._asdict())
    x = extension.as_ndarray(p)
    expected = as_strided(
        np.frombuffer(values, np.int32)[layout.byte_offset // 4 :],
        layout.shape,
        [4 * stride for stride in layout.strides],
    )
    assert (x.shape, x.tolist()) == (layout.shape, expected.tolist())
    if x.size:
        assert x.ctypes.data == p.handle.address + layout.byte_offset
        assert not x.flags.owndata
        assert x.flags.writeable is (not readonly and (NEW or DIRECT))
    if 0 not in x.shape and 1 not in x.shape:
        assert x.strides == expected.strides
    for flag in ("C_CONTIGUOUS", "F_CONTIGUOUS", "ALIGNED"):
        assert x.flags[flag] == expected.flags[flag]
    del x
    assert freed_once(p)


def test_the_flags_of_a_misaligned_result(extension: Any) -> None:
    x = extension.as_ndarray(Producer(dtype=(0, 32, 1), shape=(2,), byte_offset=1))
    assert not x.flags.aligned and x.flags.c_contiguous


def test_the_last_view_of_a_result_frees_the_memory(extension: Any) -> None:
    p = Producer(dtype=(0, 32, 1), shape=(2, 3))
    x = extension.as_ndarray(p)
    x[:] = 7
    view = x[1:].T
    assert view.base is x
    del x
    gc.collect()
    assert (p.calls, view.tolist()) == ([0], [[7], [7], [7]])
    del view
    assert freed_once(p)


def test_a_read_only_result_stays_read_only(extension: Any) -> None:
    if not (NEW or DIRECT):
        pytest.skip("NumPy before 2.1 refuses read-only memory")
    x = extension.as_ndarray(Producer(dtype=(0, 32, 1), shape=(2, 3), flags=1))
    with pytest.raises(ValueError, match="WRITEABLE"):
        x.flags.writeable = True


def test_a_result_of_many_dimensions(extension: Any) -> None:
    """NumPy 1 has 32, which its own function refuses."""
    p = Producer(dtype=(0, 32, 1), shape=(1,) * 64, strides=(1,) * 64)
    if np.__version__.startswith("1."):
        with pytest.raises((RuntimeError, BufferError)):
            extension.as_ndarray(p)
    else:
        assert extension.as_ndarray(p).ndim == 64
    assert p.calls == p.exports


@pytest.mark.parametrize("dtype", [(4, 16, 1), (2, 32, 2), (0, 4, 1), (5, 32, 1), (10, 8, 1)])
def test_numpy_refuses_a_result_of_another_dtype(
    extension: Any, dtype: tuple[int, int, int]
) -> None:
    p = Producer(dtype=dtype, shape=(2,))
    with pytest.raises((BufferError, RuntimeError)):
        extension.as_ndarray(p)
    assert p.calls == p.exports


def test_numpy_refuses_a_result_on_a_device(extension: Any) -> None:
    p = Producer(dtype=(0, 32, 1), shape=(2,), device=(8, 0))
    with pytest.raises((BufferError, RuntimeError)):
        extension.as_ndarray(p)
    assert p.calls == p.exports


@pytest.mark.parametrize("extents", [(2, 3), (0, 3), (3, 0), (1, 1)])
def test_new_memory_of_numpy(extension: Any, extents: tuple[int, int]) -> None:
    x = extension.bytes_like(vector(1), *extents)
    assert type(x) is np.ndarray and x.dtype is np.dtype(np.uint8)
    assert (x.shape, x.base) == (extents, None)
    assert x.flags.owndata and x.flags.writeable and x.flags.c_contiguous
    x[:] = 1
    other = np.empty(extents)
    assert sys.getrefcount(x) == sys.getrefcount(other)


@pytest.mark.parametrize("extents", [(-1, 3), (1 << 40, 1 << 40)])
def test_numpy_refuses_to_allocate(extension: Any, extents: tuple[int, int]) -> None:
    x = vector(1)
    references = sys.getrefcount(x)
    with pytest.raises((ValueError, MemoryError)):
        extension.bytes_like(x, *extents)
    assert sys.getrefcount(x) == references


@pytest.mark.parametrize("binding", BINDINGS)
def test_an_owning_argument_holds_the_array(binding: str) -> None:
    x = vector(1, 2, 3)
    references = sys.getrefcount(x)
    result = function(binding, "same")(x)
    assert result.ctypes.data == x.ctypes.data
    assert sys.getrefcount(x) > references
    del result
    assert sys.getrefcount(x) == references


@pytest.mark.parametrize("binding", BINDINGS)
def test_the_protocol_gives_the_same_result(binding: str) -> None:
    """In a process without the C API of NumPy."""
    module = binding.partition(".")[0]
    code = f"""
        import numpy as np
        import {module}
        x = np.arange(3, dtype=np.float32)
        results = [getattr({binding}, name)(x) for name in ("same", "doubled")]
        print([(type(r).__name__, str(r.dtype), r.shape, r.tolist()) for r in results])
        print(type({module}.returns.numpy(3).base).__name__)
    """
    outputs = []
    for value in ("0", "1"):
        process = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(sys.path),
                "DLBRIDGE_PROTOCOL_ONLY": value,
            },
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert process.returncode == 0, process.stderr
        outputs.append(process.stdout.splitlines())
    assert outputs[0][0] == outputs[1][0]
    assert [lines[1] for lines in outputs] == ["PlainTensor", "PyCapsule"]
