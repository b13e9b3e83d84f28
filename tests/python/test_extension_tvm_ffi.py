# SPDX-License-Identifier: BSD-3-Clause
"""tvm-ffi imports Tensor and a class of an extension by their exchange tables."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import tvm_ffi

import dlbridge
from bindings import BINDINGS, MODULES, function
from producers import Producer


def image(cls: Any) -> Any:
    result = cls(2, 3)
    result.fill(2)
    return result


MAKERS: dict[str, Any] = {
    "Tensor": (dlbridge.Tensor, lambda _: dlbridge.from_dlpack(Producer())),
    **{each: (importlib.import_module(each).Image, image) for each in MODULES},
}


@pytest.fixture(params=MAKERS.values(), ids=list(MAKERS))
def table_only(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An object whose class has a table and no __dlpack__, and the address of its memory."""
    cls, make = request.param
    x = make(cls)
    address = dlbridge.from_dlpack(x).data_ptr
    monkeypatch.delattr(cls, "__dlpack__")
    return x, address


def test_from_dlpack_uses_the_table(table_only: Any) -> None:
    x, address = table_only
    tensor = tvm_ffi.from_dlpack(x)
    assert (tensor.shape, tensor.data_ptr()) == ((2, 3), address)
    del x, table_only


def test_a_function_returns_the_type_of_its_argument(table_only: Any) -> None:
    x, _ = table_only
    echo = tvm_ffi.get_global_func("testing.echo")
    assert type(echo(x)) is type(x)


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_result_is_converted_by_the_table_of_tvm_ffi(binding: str) -> None:
    x = tvm_ffi.from_dlpack(dlbridge.from_dlpack(Producer(shape=(3,))))
    result = function(binding, "same")(x)
    assert (type(result), result.data_ptr()) == (type(x), x.data_ptr())
