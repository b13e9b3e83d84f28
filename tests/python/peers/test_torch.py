# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch: exchanges on the same memory in both directions, for every layout and dtype."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import dlbridge
import foreign
import producers
from exchanges import test_comparison, test_exchange, test_the_table_names_what_there_is

LIBRARY = "torch"
__all__ = ["test_comparison", "test_exchange", "test_the_table_names_what_there_is"]

peer: Any = torch
X = torch.Tensor
V = (1, 0)


def whole() -> X:
    return torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)


LAYOUTS: dict[str, Callable[[], X]] = {
    "C order": whole,
    "Fortran order": lambda: whole().permute(2, 1, 0),
    "transposed": lambda: whole().transpose(0, 1),
    "channels last": lambda: torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last),
    "slice": lambda: whole()[1, 1:],
    "every other": lambda: whole()[:, :, ::2],
    "a column": lambda: whole()[:, :, 1:2],
    "expanded": lambda: whole()[0, 0].expand(5, 4),
    "overlapping": lambda: whole().as_strided((4, 4), (1, 1)),
    "rank 0": lambda: torch.tensor(5.0),
    "rank 0 view": lambda: whole()[1, 2, 3],
    "no element": lambda: torch.zeros(2, 0, 3),
    "no element, offset": lambda: whole()[:, 1:1],
    "size 1, odd strides": lambda: whole().as_strided((1, 3, 1), (999, 4, 7), 2),
    "rank 64": lambda: torch.zeros((1,) * 62 + (2, 3)),
}
# dtype of PyTorch, of DLPack, and the name in dlbridge.
DTYPES: list[tuple[Any, tuple[int, int, int], str]] = [
    (torch.bool, (6, 8, 1), "bool"),
    (torch.int8, (0, 8, 1), "int8"),
    (torch.int16, (0, 16, 1), "int16"),
    (torch.int32, (0, 32, 1), "int32"),
    (torch.int64, (0, 64, 1), "int64"),
    (torch.uint8, (1, 8, 1), "uint8"),
    (torch.uint16, (1, 16, 1), "uint16"),
    (torch.uint32, (1, 32, 1), "uint32"),
    (torch.uint64, (1, 64, 1), "uint64"),
    (torch.float16, (2, 16, 1), "float16"),
    (torch.bfloat16, (4, 16, 1), "bfloat16"),
    (torch.float32, (2, 32, 1), "float32"),
    (torch.float64, (2, 64, 1), "float64"),
    (torch.complex32, (5, 32, 1), "complex32"),
    (torch.complex64, (5, 64, 1), "complex64"),
    (torch.complex128, (5, 128, 1), "complex128"),
    (torch.float8_e4m3fn, (10, 8, 1), "float8_e4m3fn"),
    (torch.float8_e4m3fnuz, (11, 8, 1), "float8_e4m3fnuz"),
    (torch.float8_e5m2, (12, 8, 1), "float8_e5m2"),
    (torch.float8_e5m2fnuz, (13, 8, 1), "float8_e5m2fnuz"),
    (torch.float8_e8m0fnu, (14, 8, 1), "float8_e8m0fnu"),
    (torch.float4_e2m1fn_x2, (17, 4, 2), "float4_e2m1fnx2"),
]


def same_memory(t: dlbridge.Tensor, x: X) -> bool:
    return (t.data_ptr, t.shape, t.strides, t.device) == (
        x.data_ptr(),
        tuple(x.shape),
        x.stride(),
        "cpu",
    )


def same_tensors(a: X, b: X) -> bool:
    return (
        (a.data_ptr(), a.shape, a.stride(), a.dtype) == (b.data_ptr(), b.shape, b.stride(), b.dtype)
    ) and a.device == b.device


# Import.


@pytest.mark.parametrize("take", [dlbridge.from_dlpack, dlbridge.as_tensor])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_import(layout: str, take: Any) -> None:
    x = LAYOUTS[layout]()
    for keywords in ({}, {"copy": False}, {"device": "cpu"}, {"device": x.device}, {"stream": 7}):
        t = take(x, **keywords)
        assert same_memory(t, x)
        assert not t.readonly


@pytest.mark.parametrize("dtype, triple, name", DTYPES, ids=[each[2] for each in DTYPES])
def test_every_dtype_both_ways(dtype: Any, triple: tuple[int, int, int], name: str) -> None:
    x = torch.zeros(64, dtype=torch.uint8).view(dtype)[1:3]
    t = dlbridge.from_dlpack(x)
    assert same_memory(t, x)
    assert (t.dtype, t.dtype.code, t.dtype.bits, t.dtype.lanes) == (name, *triple)
    assert dlbridge.to_dlpack(x) and foreign.consume(t.__dlpack__()).dtype == triple
    assert same_tensors(peer.from_dlpack(t), x)
    if triple[2] == 1:
        assert t.dtype == dtype and dlbridge.dtype(dtype) == name


@pytest.mark.parametrize("layout", LAYOUTS)
def test_import_with_a_copy(layout: str) -> None:
    x = LAYOUTS[layout]()
    t = dlbridge.from_dlpack(x, copy=True)
    assert x.numel() == 0 or t.data_ptr != x.data_ptr()
    assert torch.equal(peer.from_dlpack(t), x)


@pytest.mark.parametrize("make", [peer.utils.dlpack.to_dlpack, lambda x: x.__dlpack__()])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_import_of_a_capsule(layout: str, make: Any) -> None:
    x = LAYOUTS[layout]()
    assert same_memory(dlbridge.from_dlpack(make(x)), x)


def test_device_and_dtype_equal_those_of_torch() -> None:
    t = dlbridge.from_dlpack(whole())
    x = torch.zeros(2, device=t.device)
    assert dlbridge.device(x.device) == t.device == "cpu"
    assert dlbridge.device(torch.device("cuda", 3)) == "cuda:3"
    assert t.dtype == peer.float32 and t.dtype != peer.float64
    assert peer.float32 == t.dtype
    assert getattr(torch, t.dtype) is torch.float32


# Refusals: torch's own, and tensors that torch exports without memory.


def requires_grad() -> X:
    return torch.ones(2, requires_grad=True)


def parameter() -> X:
    return torch.nn.Parameter(torch.ones(2))


def conjugated() -> X:
    return torch.ones(2, dtype=torch.complex64).conj()


def sparse() -> X:
    return torch.eye(3).to_sparse()


def meta() -> X:
    return torch.empty(2, device="meta")


def export(x: X) -> object:
    """Calls both methods, as a consumer does."""
    return x.__dlpack_device__(), x.__dlpack__(max_version=V)


@pytest.mark.parametrize("take", [dlbridge.from_dlpack, dlbridge.as_tensor, dlbridge.to_dlpack])
@pytest.mark.parametrize("make", [requires_grad, parameter, conjugated, sparse, meta])
def test_tensors_that_torch_refuses_to_export(make: Callable[[], X], take: Any) -> None:
    x = make()
    with pytest.raises((BufferError, ValueError)) as original:
        export(x)
    with pytest.raises(type(original.value)) as raised:
        take(x)
    assert str(raised.value) == str(original.value)


@pytest.mark.filterwarnings("ignore:Accessing the data pointer of FakeTensor")
@pytest.mark.parametrize("take", [dlbridge.from_dlpack, dlbridge.as_tensor, dlbridge.to_dlpack])
def test_a_fake_tensor_has_no_memory(take: Any) -> None:
    with FakeTensorMode():
        x = torch.ones(2, 3)
        with pytest.raises(BufferError) as raised:
            take(x)
    assert str(raised.value) == (
        "tensor without data: expected memory; got null data for float32[2, 3] on cpu. Give the "
        "tensor storage first: fake, meta and lazy tensors have none"
    )


def imaginary_part() -> X:
    return torch.tensor([1 + 2j, 3 + 4j]).conj().imag


def imaginary_scalar() -> X:
    return torch.tensor(1 + 2j).conj().imag


def negated(dtype: torch.dtype) -> X:
    return torch._neg_view(torch.ones(3, dtype=dtype))


NEGATED: dict[str, Callable[[], X]] = {
    "imaginary part": imaginary_part,
    "imaginary scalar": imaginary_scalar,
    "float32": lambda: negated(torch.float32),
    "int64": lambda: negated(torch.int64),
    "complex64": lambda: negated(torch.complex64),
    "subclass": lambda: peer.nn.Parameter(imaginary_part(), requires_grad=False),
}
REQUESTS: list[dict[str, Any]] = [{}, {"copy": False}, {"device": "cpu"}]


@pytest.mark.parametrize("keywords", REQUESTS)
@pytest.mark.parametrize("take", [dlbridge.from_dlpack, dlbridge.as_tensor])
@pytest.mark.parametrize("kind", NEGATED)
def test_lazily_negated(kind: str, take: Any, keywords: dict[str, Any]) -> None:
    """torch exports their memory, which has the opposite sign, by both ways."""
    x: Any = NEGATED[kind]()
    assert x.is_neg()
    with pytest.raises(BufferError, match="negated lazily") as raised:
        take(x, **keywords)
    assert "resolve_neg()" in str(raised.value)
    assert exported(take(x.resolve_neg(), **keywords)).tolist() == x.tolist()


@pytest.mark.parametrize("kind", sorted(set(NEGATED) - {"complex64"}))
def test_a_copy_of_a_lazily_negated_tensor(kind: str) -> None:
    """torch makes the copy, with the right sign."""
    x: Any = NEGATED[kind]()
    assert exported(dlbridge.from_dlpack(x, copy=True)).tolist() == x.tolist()


def exported(t: dlbridge.Tensor) -> X:
    x: X = peer.from_dlpack(t)
    return x


class Objecting(torch.Tensor):
    """A subclass that refuses every function of torch."""

    @classmethod
    def __torch_function__(cls, *args: Any, **keywords: Any) -> Any:
        raise LookupError("this subclass objects")


class Private(torch.Tensor):
    """A subclass with a __dlpack__ of its own."""

    def __dlpack__(self, **keywords: Any) -> Any:
        raise BufferError("this subclass is private")


@pytest.mark.parametrize("kind, error", [(Objecting, LookupError), (Private, BufferError)])
def test_a_subclass_decides(kind: Any, error: type[Exception]) -> None:
    """The exchange table belongs to torch.Tensor alone."""
    x = peer.ones(2).as_subclass(kind)
    with pytest.raises(error, match="this subclass"):
        dlbridge.from_dlpack(x)


def test_a_tensor_that_begins_to_require_a_gradient() -> None:
    x = torch.ones(2)
    assert exported(dlbridge.from_dlpack(x)).data_ptr() == x.data_ptr()
    x.requires_grad_()
    with pytest.raises(BufferError, match="require gradient"):
        dlbridge.from_dlpack(x)
    x.requires_grad_(False)
    assert exported(dlbridge.from_dlpack(x)).data_ptr() == x.data_ptr()


# Export.

METHODS: dict[str, Callable[[dlbridge.Tensor], X]] = {
    "from_dlpack": peer.from_dlpack,
    "no copy": lambda t: peer.from_dlpack(t, copy=False),
    "cpu": lambda t: peer.from_dlpack(t, device="cpu"),
    "legacy capsule": lambda t: peer.from_dlpack(dlbridge.to_dlpack(t)),
    "versioned capsule": lambda t: peer.from_dlpack(dlbridge.to_dlpack(t, max_version=V)),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_export(layout: str, method: str) -> None:
    x = LAYOUTS[layout]()
    back = METHODS[method](dlbridge.from_dlpack(x))
    assert same_tensors(back, x)
    assert torch.equal(back, x)


@pytest.mark.parametrize("method", METHODS)
def test_export_of_a_foreign_tensor(method: str) -> None:
    """With the strides and the offset of the producer."""
    p = producers.Producer(shape=(2, 3), strides=(1, 8), byte_offset=32)
    back = METHODS[method](dlbridge.from_dlpack(p))
    assert (back.data_ptr(), back.stride()) == (p.handle.address + 32, (1, 8))
    assert back.tolist() == [[8, 16, 24], [9, 17, 25]]
    view = back[1]
    del back
    assert (p.calls, view.tolist()) == ([0], [9, 17, 25])
    del view
    assert p.calls == [1]


@pytest.mark.parametrize("method", METHODS)
def test_memory_is_shared(method: str) -> None:
    x = whole()
    back = METHODS[method](dlbridge.from_dlpack(x))
    back[1, 2, 3] = 66
    x[0, 0, 0] = 55
    assert (x[1, 2, 3].item(), back[0, 0, 0].item()) == (66, 55)


@pytest.mark.parametrize("keywords", [{"copy": True}, {"copy": True, "device": "cpu"}])
def test_export_with_a_copy(keywords: dict[str, Any]) -> None:
    t = dlbridge.from_dlpack(whole())
    back = peer.from_dlpack(t, **keywords)
    assert back.data_ptr() != t.data_ptr
    assert torch.equal(back, whole())


def test_asarray_uses_the_buffer() -> None:
    """torch.asarray accepts DLPack capsules only. It reads the bytes of any other object with a
    buffer as float32, as torch.frombuffer does."""
    t = dlbridge.from_dlpack(torch.tensor([[0, 0x3F800000]], dtype=torch.int32))
    assert torch.asarray(t).tolist() == [0.0, 1.0]
    assert torch.asarray(dlbridge.to_dlpack(t)).tolist() == [[0, 0x3F800000]]


def test_frombuffer() -> None:
    t = dlbridge.from_dlpack(whole())
    x = torch.frombuffer(t, dtype=torch.float32)
    assert (x.data_ptr(), x.tolist()) == (t.data_ptr, list(range(24)))


def test_read_only_memory_requires_a_versioned_capsule() -> None:
    """torch requests one and ignores its flag; a consumer of legacy capsules is refused."""
    t = dlbridge.from_dlpack(whole(), readonly=True)
    assert peer.from_dlpack(t).data_ptr() == t.data_ptr
    with pytest.raises(BufferError, match="a legacy tensor has no read-only flag"):
        peer.from_dlpack(dlbridge.to_dlpack(t))


def run(code: str) -> int:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    prologue = "import array, torch, dlbridge\n"
    return subprocess.run(
        [sys.executable, "-c", prologue + code], env=environment, capture_output=True, timeout=120
    ).returncode


def test_negative_strides_abort() -> None:
    """torch 2.13 aborts the process. If this fails, torch has been corrected."""
    backwards = "t = dlbridge.as_tensor(memoryview(bytearray(4))[::-1])\n"
    assert run(backwards) == 0
    assert run(backwards + "torch.from_dlpack(t)") == -signal.SIGABRT


def test_exit_of_the_interpreter() -> None:
    code = """
x = torch.zeros(3)
t = dlbridge.from_dlpack(x)
y = torch.from_dlpack(t)
z = torch.from_dlpack(dlbridge.as_tensor(array.array("f", [1, 2, 3])))
torch.tensors = (t, y, z)
"""
    assert run(code) == 0


# Round trips.


@pytest.mark.parametrize("how", ["here", "nogil", "thread", "pending"])
def test_the_consumer_in_c(how: Any) -> None:
    x = whole()[:, 1:, ::2]
    expected = x.contiguous().numpy().tobytes()
    tensor = foreign.consume(dlbridge.from_dlpack(x).__dlpack__())
    del x
    assert tensor.tobytes() == expected
    assert tensor.release(how)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_pickle(layout: str) -> None:
    x = LAYOUTS[layout]()
    unpickled = pickle.loads(pickle.dumps(dlbridge.from_dlpack(x)))
    assert torch.equal(peer.from_dlpack(unpickled), x)


def test_threads_release_their_tensors() -> None:
    p = producers.Producer()
    tensors = [dlbridge.from_dlpack(p)]
    with ThreadPoolExecutor(8) as pool:
        sums = pool.map(lambda _: peer.from_dlpack(tensors[0]).sum().item(), range(200))
        assert set(sums) == {15.0}
    assert p.calls == [0]
    tensors.clear()
    assert p.calls == [1]
