"""tvm-ffi, which consumes exchange tables, takes our Tensor and an extension's class by theirs."""

from __future__ import annotations

from typing import Any

import pytest
import tvm_ffi

import dlbridge
import extension
from producers import Producer


def image() -> Any:
    made = extension.Image(2, 3)
    made.fill(2)
    return made


MAKERS: list[tuple[Any, Any]] = [
    (dlbridge.Tensor, lambda: dlbridge.from_dlpack(Producer())),
    (extension.Image, image),
]


@pytest.fixture(params=MAKERS, ids=["Tensor", "Image"])
def table_only(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An object whose class has a table, and no __dlpack__ any more."""
    cls, make = request.param
    x = make()
    address = dlbridge.from_dlpack(x).data_ptr
    monkeypatch.delattr(cls, "__dlpack__")
    return x, address


def test_from_dlpack_goes_by_the_table(table_only: Any) -> None:
    x, address = table_only
    taken = tvm_ffi.from_dlpack(x)
    assert (taken.shape, taken.data_ptr()) == ((2, 3), address)
    del x, table_only


def test_an_argument_goes_by_the_table_and_its_own_type_comes_out(table_only: Any) -> None:
    x, _ = table_only
    echo = tvm_ffi.get_global_func("testing.echo")
    assert type(echo(x)) is type(x)


def test_a_result_comes_back_by_tvm_ffis_table() -> None:
    x = tvm_ffi.from_dlpack(dlbridge.from_dlpack(Producer(shape=(3,))))
    for binding in ("by_def", "by_pybind11", "by_fast"):
        back = getattr(extension, binding).same(x)
        assert (type(back), back.data_ptr()) == (type(x), x.data_ptr())
