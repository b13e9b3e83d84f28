# SPDX-License-Identifier: BSD-3-Clause
"""What nanobind alone has, or refuses in its own way. The other functions of the module are those
of `extension`, which test_extension_*.py calls with both."""

from __future__ import annotations

import importlib
import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dlbridge
from producers import Raises

if importlib.util.find_spec("nanobind_extension") is None:
    pytest.skip("the module was not built, as nanobind was not found", allow_module_level=True)

extension: Any = importlib.import_module("nanobind_extension")


def test_an_element_that_the_caster_of_a_list_refuses() -> None:
    floats = 'typing.Annotated[SupportsDLPack, "float32[*] on cpu"]'
    with pytest.raises(TypeError) as raised:
        extension.by_library.totals([np.zeros(2, "float32"), np.zeros(2)])
    assert f"Sequence[{floats}]" in str(raised.value)


def test_a_cast_to_an_owning_tensor() -> None:
    assert extension.cast_owning(np.zeros(2, "float32")) == 2
    with pytest.raises(TypeError, match=r"cast\(\): expected float32.*dtype differs"):
        extension.cast_owning(np.zeros(2))


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A process that a shell starts in the background ignores SIGINT."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_is_not_lost() -> None:
    with pytest.raises(KeyboardInterrupt):
        try:
            extension.by_library.span_to_read(Raises(KeyboardInterrupt()))
        except TypeError:  # of nanobind, during which the interrupt arrives
            for _ in range(100):
                pass
            raise AssertionError("the interrupt was lost") from None


def test_none_is_stated_for_optional_parameters_only() -> None:
    words = r"^dlbridge: the binding of needs_x\(\) states that argument 'x' may be None, which its"
    with pytest.raises(TypeError, match=words):
        extension.bind_none(extension)
    assert not hasattr(extension, "needs_x")


def test_a_name_that_is_taken() -> None:
    with pytest.raises(TypeError, match=r"^taken_name exists already and is no function of nano"):
        extension.bind_taken_name(extension)


@pytest.mark.parametrize("copy", [None, True])
@pytest.mark.parametrize("argument", ["max_version", "stream", "dl_device"])
def test_an_array_that_python_code_resizes_during_its_export(argument: str, copy: Any) -> None:
    """The capsule describes the memory that the array has when __dlpack__ returns."""
    buffer = extension.Buffer(3)

    class Resizing:
        def __init__(self, value: int) -> None:
            self.value = value

        def __index__(self) -> int:
            buffer.resize(100_000)
            return self.value

    values: dict[str, Any] = {
        "max_version": (Resizing(1), 0), "stream": Resizing(-1), "dl_device": (Resizing(1), 0),
    }  # fmt: skip
    t = dlbridge.from_dlpack(buffer.__dlpack__(**{argument: values[argument]}, copy=copy))
    assert (t.size, t.tolist()[:4]) == (100_000, [1, 1, 1, 0])
    assert (t.data_ptr == dlbridge.from_dlpack(buffer).data_ptr) == (copy is None)


LEAVING = """
import numpy as np
import nanobind_extension as e
e.kind(np.zeros(2, np.float32))
try:
    e.kind(np.zeros(2, np.int8))
except TypeError:
    pass
image = e.Image(2, 2)
table = e.members.Table(np.zeros((2, 2), np.float32))
try:
    table.values = 3
except TypeError:
    pass
rows = iter(table)
next(rows)
del table, rows
kept = [e.by_def.doubled(np.zeros(2, np.float32)), e.by_def.to_managed(3), e.Buffer(3)]
np.from_dlpack(e.Buffer(3))
"""


def test_nothing_leaks_at_exit() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEAVING],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""  # nanobind lists leaked instances, types and functions there
