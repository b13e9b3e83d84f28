"""Arrays of dpctl and of dpnp that return to their own library through dlbridge.

Both look up the allocation at `data` and add `byte_offset` themselves, so they must receive both as
they wrote them, also of an empty array.
"""

from __future__ import annotations

import gc
import importlib
import warnings
from typing import Any, Callable

import pytest

import dlbridge
from dlbridge.tools import abi

MODULES = {"dpctl": "dpctl.tensor", "dpnp": "dpnp.tensor"}  # of the class usm_ndarray

VIEWS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda x: x,
    "offset": lambda x: x[1:, ::2, 1:3],
    "transposed": lambda x: x[0].T,
    "column": lambda x: x[:, 1, 2],
    "rank 0": lambda x: x[1, 2, 3],
    "backwards": lambda x: x[::-1],
    "backwards from an offset": lambda x: x[1, 2:0:-1, ::-2],
    "empty": lambda x: x[:0],
    "empty at an offset": lambda x: x[1:, 2:2, 3:],
    "empty and backwards": lambda x: x[::-1, 1:1],
}


def tensor_module(library: str) -> Any:
    with warnings.catch_warnings():  # dpctl announces that its arrays move to dpnp
        warnings.simplefilter("ignore", DeprecationWarning)
        return importlib.import_module(MODULES[library])


def array_of(dpt: Any, view: str, usm_type: str) -> Any:
    whole = dpt.reshape(dpt.arange(24, dtype="int32", usm_type=usm_type), (2, 3, 4))
    return VIEWS[view](whole)


def values_of(dpt: Any, x: Any) -> Any:
    return dpt.asnumpy(x).tolist()


@pytest.mark.parametrize("usm_type", ["device", "shared", "host"])
@pytest.mark.parametrize("view", VIEWS)
def test_own_arrays_return(view: str, usm_type: str, request: pytest.FixtureRequest) -> None:
    dpt = tensor_module(request.module.LIBRARY)
    x = array_of(dpt, view, usm_type)
    t = dlbridge.from_dlpack(x)
    assert t.data_ptr == x._pointer
    y = dpt.from_dlpack(t)
    assert (y._pointer, y.shape, y.dtype) == (x._pointer, x.shape, x.dtype)
    assert (y.strides, y.usm_type, y.sycl_queue.sycl_device) == (
        x.strides, usm_type, x.sycl_device)  # fmt: skip
    expected = values_of(dpt, x)
    del x, t
    gc.collect()
    assert values_of(dpt, y) == expected
    assert values_of(dpt, dpt.from_dlpack(dlbridge.from_dlpack(y))) == expected  # once more


@pytest.mark.parametrize("max_version", [None, (1, 0)])
@pytest.mark.parametrize("requested", [None, (1, 0)])
@pytest.mark.parametrize(
    "view", [each for each in VIEWS if each != "rank 0"]
)  # dpnp marks it as read-only
def test_the_struct_has_the_data_of_the_producer(
    view: str, requested: Any, max_version: Any, request: pytest.FixtureRequest
) -> None:
    """In all four pairs of structs, read with ctypes."""
    dpt = tensor_module(request.module.LIBRARY)
    x = array_of(dpt, view, "device")
    own = abi.read(x.__dlpack__())
    t = dlbridge.from_dlpack(x.__dlpack__(max_version=requested))
    for capsule in (
        t.__dlpack__(max_version=max_version),
        dlbridge.to_dlpack(x, max_version=max_version),
    ):
        passed = abi.read(capsule)
        assert (passed.data, passed.byte_offset) == (own.data, own.byte_offset)
        assert passed.shape == own.shape
    assert own.data != 0
    assert (t.data_ptr, t.byte_offset) == (own.data + own.byte_offset, 0)
