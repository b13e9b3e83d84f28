# SPDX-License-Identifier: BSD-3-Clause
"""Views of a Tensor by indices, slices, T, permute, reshape and view, on any device."""

from __future__ import annotations

import array
import ctypes
import gc
import itertools
import re
import struct
import sys
from typing import Any

import pytest

import dlbridge
import foreign
import producers

DEVICES = [(1, 0), (2, 1), (3, 0), (4, 0), (10, 0), (13, 0), (14, 0)]


def iota(shape: tuple[int, ...]) -> tuple[producers.Producer, dlbridge.Tensor]:
    """Row-major float32 elements 0, 1, 2, ..."""
    count = 1
    for extent in shape:
        count *= extent
    p = producers.Producer(shape=shape, fill=struct.pack(f"={count}f", *range(count)))
    return p, dlbridge.from_dlpack(p)


def read(t: dlbridge.Tensor) -> list[float]:
    """The elements in row-major order, as the consumer in C reads them."""
    data = foreign.consume(t.__dlpack__(max_version=(1, 0))).tobytes()
    return list(struct.unpack(f"={len(data) // 4}f", data))


# The expected elements are those of memoryview's list, by Python's own slices.
KEYS: list[Any] = [
    0, -1, 1, slice(None), slice(1, None), slice(None, None, -1), slice(2, 0, -2), slice(5, 9),
    slice(-2, None, 3), ..., None,
]  # fmt: skip


def select(nested: Any, key: tuple[Any, ...], rank: int) -> Any:
    """nested[key] of nested lists."""
    named = sum(each is not None and each is not ... for each in key)
    if ... in key:
        at = key.index(...)
        key = key[:at] + (slice(None),) * (rank - named) + key[at + 1 :]
    else:
        key = key + (slice(None),) * (rank - named)

    def apply(value: Any, rest: tuple[Any, ...]) -> Any:
        if not rest:
            return value
        first, rest = rest[0], rest[1:]
        if first is None:
            return [apply(value, rest)]
        if isinstance(first, slice):
            return [apply(each, rest) for each in value[first]]
        return apply(value[first], rest)

    return apply(nested, key)


@pytest.mark.parametrize("count", range(4))
def test_indices(count: int) -> None:
    p, t = iota((2, 3, 4))
    nested = [[[float(12 * i + 4 * j + k) for k in range(4)] for j in range(3)] for i in range(2)]
    checked = 0
    for key in itertools.product(KEYS, repeat=count):
        if key.count(...) > 1:
            continue
        view = t[key] if count != 1 else t[key[0]]
        expected = select(nested, key, 3)
        assert type(view) is dlbridge.Tensor
        assert view.tolist() == expected, key
        assert read(view) == list(flat(expected)), key
        assert view.size == 0 or 0 <= view.data_ptr - p.handle.address < 96
        checked += 1
    assert checked >= len(KEYS) ** count // 2


def flat(nested: Any) -> Any:
    if isinstance(nested, list):
        for each in nested:
            yield from flat(each)
    else:
        yield nested


class Index:
    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def test_indices_of_other_types() -> None:
    _, t = iota((4,))
    assert t[Index(2)].item() == 2 and t[Index(-1)].item() == 3
    boolean = Index(1)
    boolean.dtype = "torch.bool"  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="by masks, lists or arrays"):
        t[boolean]
    element = Index(1)
    element.ndim = 1  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="by masks, lists or arrays"):
        t[element]
    element.ndim = 0  # type: ignore[attr-defined]
    assert t[element].item() == 1
    _, number = iota((3,))
    two = dlbridge.from_dlpack(producers.Producer(shape=(), dtype=(0, 32, 1), fill=b"\2\0\0\0"))
    assert number[two].item() == 2
    assert t[:two].tolist() == [0, 1]


@pytest.mark.parametrize("wrong", ["", "1", b"", bytearray(b"1")])
def test_a_text_is_no_list_of_extents(wrong: Any) -> None:
    _, t = iota((1,))
    message = re.escape(f"expects integers, or one sequence of them, not {wrong!r}")
    with pytest.raises(TypeError, match=message):
        t.reshape(wrong)
    with pytest.raises(TypeError, match=message):
        t.permute(wrong)
    with pytest.raises(ValueError, match="shape"):
        dlbridge.empty(wrong, "float32")


@pytest.mark.parametrize("method", ["__getitem__", "reshape", "permute"])
def test_an_exception_of_index_reaches_the_caller(method: str) -> None:
    class Raises:
        def __index__(self) -> int:
            raise OverflowError("of the index")

    _, t = iota((4,))
    with pytest.raises(OverflowError, match="of the index"):
        getattr(t, method)(Raises())


@pytest.mark.parametrize(
    "key, message",
    [
        (2, "index 2 is out of range for axis 0 with extent 2 of float32[2, 3] on cpu"),
        (-3, "index -3 is out of range for axis 0 with extent 2 of float32[2, 3] on cpu"),
        ((0, 3), "index 3 is out of range for axis 1 with extent 3 of float32[2, 3] on cpu"),
        ((None, 0, ..., 5), "index 5 is out of range for axis 1"),
        (2**70, "index of more than 64 bits is out of range for axis 0"),
        ((0, 0, 0), "too many indices: 3 for float32[2, 3] on cpu, whose rank is 2"),
        ((..., ...), "an index has at most one Ellipsis"),
        ((None,) * 63, "too many dimensions: a tensor has at most 64"),
    ],
)
def test_indices_out_of_range(key: Any, message: str) -> None:
    _, t = iota((2, 3))
    with pytest.raises(IndexError) as raised:
        t[key]
    assert str(raised.value).startswith(message)


class Array:
    """As an ndarray of several elements: it has __index__, and raises."""

    ndim = 1

    def __index__(self) -> int:
        raise TypeError("only integer scalar arrays can be converted to a scalar index")


SELECTING = [[0], True, False, Array(), (0, [1]), range(2), array.array("l", [0])]


@pytest.mark.parametrize("key", SELECTING)
def test_an_index_that_selects_elements_is_refused_with_the_remedy(key: Any) -> None:
    _, t = iota((2, 3))
    with pytest.raises(
        TypeError, match=r"by masks, lists or arrays. Use np.asarray\(t\)\[index\]$"
    ):
        t[key]


@pytest.mark.parametrize("key", [1.5, "x", b"x", {1: 0}, object()])
def test_an_index_that_numpy_refuses_too_names_no_remedy(key: Any) -> None:
    _, t = iota((2, 3))
    with pytest.raises(TypeError) as e:
        t[key]
    expected = "the indices of a Tensor are integers, slices, Ellipsis and None, not "
    assert str(e.value) == expected + type(key).__name__


def test_an_exception_of_an_index_is_passed_on() -> None:
    class Broken:
        def __index__(self) -> int:
            raise KeyError("mine")

    _, t = iota((2, 3))
    with pytest.raises(KeyError, match="mine"):
        t[Broken()]
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        t[::0]


def test_elements_are_not_assigned_deleted_or_searched() -> None:
    _, t = iota((2, 3))
    x: Any = t
    with pytest.raises(TypeError, match=r"use np.asarray\(t\)\[index\] = value"):
        x[0] = 1
    with pytest.raises(TypeError, match="cannot be deleted"):
        del x[0]
    with pytest.raises(TypeError, match="does not compare the elements"):
        0 in x  # noqa: B015


def test_length_and_iteration() -> None:
    _, t = iota((2, 3))
    assert len(t) == 2 and [each.tolist() for each in t] == [[0, 1, 2], [3, 4, 5]]
    assert [each.tolist() for each in reversed(t)] == [[3, 4, 5], [0, 1, 2]]
    assert [type(each) for each in t[0]] == [dlbridge.Tensor] * 3
    assert [each.shape for each in t[0]] == [()] * 3
    assert len(t[:0]) == 0 and list(t[:0]) == []
    first, *rest = t
    assert first.shape == (3,) and len(rest) == 1
    for function in (len, iter, list):
        with pytest.raises(TypeError, match="expects a tensor of at least one dimension, not"):
            function(t[0, 0])


@pytest.mark.parametrize("device", DEVICES)
def test_views_on_every_device(device: tuple[int, int]) -> None:
    p = producers.Producer(shape=(4, 3), device=device, flags=1 | 2 | 1 << 40, byte_offset=8)
    t = dlbridge.from_dlpack(p, stream=-1)
    for view, offset, strides in (
        (t[1], 12, (1,)),
        (t[2, 1], 28, ()),
        (t[::-1, 1:], 40, (-3, 1)),
        (t[1:, None].T, 12, (1, 0, 3)),
        (t.reshape(2, 6)[1], 24, (1,)),
    ):
        start = t.data_ptr + t.byte_offset + offset
        assert view.data_ptr + view.byte_offset == start
        assert view.device == t.device and view.strides == strides
        assert view.readonly and view.flags == 1 | 1 << 40  # it is no copy
        assert view.__dlpack_device__() == device
        exported = foreign.consume(view.__dlpack__(max_version=(1, 0), stream=None))
        assert exported.flags is not None and exported.flags & 1
    assert p.calls == [0]
    del view, t, exported
    gc.collect()
    assert p.calls == [1]


def test_a_view_keeps_the_memory_alive() -> None:
    p, t = iota((2, 3))
    view = t[1].reshape(3, 1).T[:, ::-1]
    capsule = view.__dlpack__(max_version=(1, 0))
    del t
    gc.collect()
    assert p.calls == [0] and view.tolist() == [[5, 4, 3]]
    del view
    assert p.calls == [0]
    del capsule
    assert p.calls == [1]


def test_views_of_views_form_no_chain() -> None:
    """A chain of a million owners would overflow the stack when it is freed."""
    p, t = iota((2, 3))
    before = foreign.accounts()
    for _ in range(100_000):
        t = t[:]
    assert t.tolist() == [[0, 1, 2], [3, 4, 5]]
    del t
    gc.collect()
    assert p.calls == [1]
    assert foreign.accounts()[1] == before[1] + 1


def test_views_leak_nothing() -> None:
    import tracemalloc

    t: Any = iota((4, 3))[1]
    uses: list[Any] = [
        lambda: t[1:, ::-1], lambda: t[2][0].item(), lambda: list(t), lambda: t.T.mT,
        lambda: t.permute(1, 0).tolist(), lambda: t.reshape(-1).view("int8"), lambda: repr(t),
        lambda: t.tobytes(), lambda: t.ravel(), lambda: t.copy(), lambda: t.to("cpu"),
        lambda: t.__array_interface__, lambda: t.flags,
        lambda: dlbridge.from_pointer(t.data_ptr, (4, 3), "float32", owner=t),
        lambda: dlbridge.empty((4, 3), "float32"),
    ]  # fmt: skip
    failing: list[Any] = [
        lambda: t[9], lambda: t[[0]], lambda: t.permute(0), lambda: t.T.reshape(12),
        lambda: t.T.view("int8"), lambda: t.reshape(5), lambda: 0 in t, lambda: t.item(),
        lambda: dlbridge.from_pointer(0, 4, "int8"), lambda: dlbridge.empty(-1, "int8"),
    ]  # fmt: skip

    def run() -> None:
        for use in uses:
            use()
        for use in failing:
            with pytest.raises((IndexError, TypeError, ValueError)):
                use()

    for _ in range(5):
        run()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(200):
            run()
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 20_000
    finally:
        tracemalloc.stop()


def test_packed_elements() -> None:
    """A view begins at a byte."""
    data = bytes(range(0x10, 0x10 + 8))
    t = dlbridge.from_dlpack(producers.Producer(shape=(4, 4), dtype=(1, 4, 1), fill=data))
    rows = [[0, 1, 1, 1], [2, 1, 3, 1], [4, 1, 5, 1], [6, 1, 7, 1]]
    assert t.tolist() == rows
    assert t[1].tolist() == rows[1] and t[1].data_ptr == t.data_ptr + 2
    assert t[:, 2:].tolist() == [row[2:] for row in rows]
    assert t[2, 2].item() == 5
    assert t.view("uint8").tolist() == [[0x10, 0x11], [0x12, 0x13], [0x14, 0x15], [0x16, 0x17]]
    for key in (1, (0, slice(1, None)), (Ellipsis, -1)):
        with pytest.raises(BufferError, match=r"begins at a byte; got element .* packed"):
            t[0][key] if key == 1 else t[key]
    odd = dlbridge.from_dlpack(producers.Producer(shape=(3, 5), dtype=(1, 4, 1)))
    with pytest.raises(BufferError, match="element 5 of uint4"):
        odd[1]


# Other shapes.


def test_transposed() -> None:
    _, t = iota((2, 3, 4))
    assert (t.T.shape, t.T.strides) == ((4, 3, 2), (1, 4, 12))
    assert (t.mT.shape, t.mT.strides) == ((2, 4, 3), (12, 1, 4))
    assert t[0, 0].T.shape == (4,) and t[0, 0, 0].T.shape == ()
    with pytest.raises(AttributeError, match="mT expects a tensor of at least two dimensions"):
        t[0, 0].mT  # noqa: B018


def test_permute() -> None:
    _, t = iota((2, 3, 4))
    for view in (t.permute(2, 0, 1), t.permute((2, 0, 1)), t.permute([-1, 0, -2])):
        assert (view.shape, view.strides) == ((4, 2, 3), (1, 12, 4))
    assert t[0, 0, 0].permute().shape == ()
    for axes in ((0, 1), (0, 1, 1), (0, 1, 3), (0, 1, -4), (), (0, 1, 2, 3)):
        with pytest.raises(ValueError, match=r"each of the 3 axes of float32\[2, 3, 4\] on cpu"):
            t.permute(*axes)
    with pytest.raises(ValueError, match="at most 64 dimensions, not 65"):
        t.permute(*range(65))


@pytest.mark.parametrize(
    "shape", [(6,), (-1,), (3, 2), (2, -1), (1, 2, 1, 3), (6, 1), (-1, 3), (2, 3, -1)]
)
def test_reshape(shape: tuple[int, ...]) -> None:
    p, t = iota((2, 3))
    view = t.reshape(*shape)
    assert view.data_ptr == p.handle.address and read(view) == [0, 1, 2, 3, 4, 5]
    assert t.reshape(shape).shape == view.shape
    assert view.reshape(2, 3).strides == (3, 1)


@pytest.mark.parametrize("shape", [(5,), (4, -1), (0, -1), (2, 3, 0), (2**62, 4)])
def test_reshape_to_another_size(shape: tuple[int, ...]) -> None:
    _, t = iota((2, 3))
    with pytest.raises(ValueError, match=r"reshape\(\) expects a shape of 6 elements for float32"):
        t.reshape(shape)


def test_reshape_of_no_elements_to_an_open_extent() -> None:
    _, t = iota((0, 3))
    with pytest.raises(ValueError, match=r"pass one in place of the -1 in \[0, -1\]"):
        t.reshape(0, -1)


@pytest.mark.parametrize("wrong", ["6", None, 6.0])
def test_dimensions_that_are_no_integers(wrong: Any) -> None:
    _, t = iota((2, 3))
    for name in ("reshape", "permute"):
        with pytest.raises(TypeError) as raised:
            getattr(t, name)(wrong, 1)
        assert str(raised.value) == (
            f"{name}() expects integers, or one sequence of them, not {wrong!r}"
        )


class WithoutRepr:
    def __repr__(self) -> str:
        raise ValueError


def test_dimensions_whose_repr_raises() -> None:
    """repr() of an int raises above 4300 digits, of other objects for any reason."""
    _, t = iota((2, 3))
    for name in ("reshape", "permute"):
        with pytest.raises(TypeError, match=r"sequence of them, not a value of type WithoutRepr$"):
            getattr(t, name)(WithoutRepr(), 1)
        huge = "a value of type tuple$" if hasattr(sys, "set_int_max_str_digits") else "[(]10000"
        with pytest.raises(ValueError, match=f"expects integers of 64 bits, not {huge}"):
            getattr(t, name)(10**5000, 1)


@pytest.mark.parametrize("shape", [(-1, -1), (-2, 3)])
def test_reshape_to_negative_extents(shape: tuple[int, ...]) -> None:
    _, t = iota((2, 3))
    with pytest.raises(ValueError, match="extents of 0 and above, and at most one of -1, not"):
        t.reshape(shape)


def test_reshape_never_copies() -> None:
    _, t = iota((2, 3))
    with pytest.raises(dlbridge.CopyForbiddenError) as raised:
        t.T.reshape(6)
    assert str(raised.value) == (
        "reshape(): a copy is needed but forbidden: expected strides that describe the elements in "
        "the new shape; got float32[3, 2] on cpu with strides [1, 3]. Copy it first, with "
        "t.copy().reshape(...)"
    )
    assert read(t.T.copy().reshape(6)) == [0, 3, 1, 4, 2, 5] == read(t.T.ravel())
    assert t.ravel().data_ptr == t.data_ptr
    assert t[:, :0].reshape(0, 7).shape == (0, 7) and t[:0].ravel().shape == (0,)


def test_view_as_another_dtype() -> None:
    data = struct.pack("=2q", 1, 2**40 + 3)
    t = dlbridge.from_dlpack(producers.Producer(shape=(2,), dtype=(0, 64, 1), fill=data))
    assert t.view("uint64").dtype == "uint64"
    assert struct.pack("=4i", *t.view("int32").tolist()) == data
    assert bytes(t.view(dtype="uint8").tolist()) == data == t.view("B").tobytes()
    assert t.view("int8").view("int64").tolist() == [1, 2**40 + 3]
    assert t.view("float32x2").dtype.lanes == 2
    assert t.view("q").dtype == "int64" and t.view("i").dtype == "int32"
    assert t[::-1].view("float64").data_ptr == t[1].data_ptr
    with pytest.raises(dlbridge.CopyForbiddenError, match="adjacent in the last dimension"):
        t[::-1].view("int8")
    assert t[::-1].copy().view("int8").shape == (16,)
    odd = t.view("int8")[:12].reshape(4, 3)[:, :2]
    with pytest.raises(dlbridge.CopyForbiddenError, match="whole numbers of elements of the new"):
        odd.view("int16")
    for view, dtype, expected in (
        (t[:1].view("int8")[:3], "int16", "a last dimension that holds a whole number of int16"),
        (t[0], "int32", "a dtype of the same size, as there is no dimension to change"),
    ):
        with pytest.raises(ValueError, match=rf"^view\(\): bad argument: expected {expected}"):
            view.view(dtype)
    with pytest.raises(dlbridge.CopyForbiddenError, match="memory aligned for int64"):
        t.view("int8")[1:9].view("int64")
    with pytest.raises(ValueError, match="expected dtype to be"):
        t.view("number")


def test_an_empty_view_of_any_strides_has_another_dtype() -> None:
    np = pytest.importorskip("numpy")
    x = np.empty((0, 4), np.int16)[:, ::2]
    assert dlbridge.from_dlpack(x).view("int8").shape == (0, 4)
    assert np.ascontiguousarray(x).view("int8").shape == (0, 4)
    for shape in ((8, 0), (0, 0), (0, 8), (3, 0, 4)):
        y = np.empty(shape, np.uint16)
        assert dlbridge.from_dlpack(y).view("complex64").shape == y.view(np.complex64).shape
    with pytest.raises(ValueError, match="a whole number of uint16 elements"):
        dlbridge.from_dlpack(np.empty((0, 3), np.uint8)).view("uint16")


def test_as_many_indices_as_a_tensor_has_dimensions() -> None:
    t = dlbridge.from_dlpack(producers.Producer(shape=(1,) * 64, fill=struct.pack("=f", 5)))
    fitting: list[Any] = [(0, None), (None, 0), (..., None, 0), (0, 0, None, None)]
    for key in fitting:
        assert t[key].shape == (1,) * 64
    too_many: list[Any] = [(None,), (0, None, None), (slice(None), None)]
    for key in too_many:
        with pytest.raises(IndexError, match="at most 64"):
            t[key]


def test_arrays_and_ranges_are_shapes() -> None:
    np = pytest.importorskip("numpy")
    t = dlbridge.empty(np.array([2, 3]), "int8")
    assert t.shape == (2, 3)
    assert t.reshape(np.array([3, 2])).shape == (3, 2)
    assert t.reshape(np.array(6)).shape == t.reshape(np.int64(6)).shape == (6,)
    assert t.permute(range(2)).shape == (2, 3)
    assert dlbridge.empty(range(1, 3), "int8").shape == (1, 2)


def test_an_item_before_the_first_does_not_exist() -> None:
    get_item = ctypes.pythonapi.PySequence_GetItem
    get_item.restype = ctypes.py_object
    get_item.argtypes = [ctypes.py_object, ctypes.c_ssize_t]
    t = dlbridge.as_tensor(bytearray(b"abc"))
    assert int(get_item(t, -3)) == ord("a")
    with pytest.raises(IndexError):
        get_item(t, -4)
