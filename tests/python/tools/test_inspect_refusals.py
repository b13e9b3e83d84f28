# SPDX-License-Identifier: BSD-3-Clause
"""inspect explains arrays that NumPy's __dlpack__ refuses, and each expression that it names works.

It also reports arrays that never change.
"""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import dlbridge
from dlbridge.tools import abi
from dlbridge.tools.inspection.conclusions.oddity import Oddity
from dlbridge.tools.inspection.inspection import Inspection, inspect
from dlbridge.tools.versions import reaches

REGISTERS = reaches(np.__version__, "2.5.0")
PACKED = np.array([(1, 2.5), (3, 4.5)], "i1,f4")
# The array, part of the sentence, and the numbers of what the repair gives.
REFUSED: dict[str, tuple[Any, str, list[Any]]] = {
    "byte order": (np.array([1.5, 2], ">f4"), "in the other byte order", [1.5, 2]),
    "integers in byte order": (np.array([1, 2], ">i2"), "in the other byte order", [1, 2]),
    "dates": (np.array([1, 2], "M8[s]"), "dates or times", [1, 2]),
    "times": (np.array([1, 2], "m8[ms]"), "dates or times", [1, 2]),
    "long double": (np.array([1.5], "g"), "long doubles", [1.5]),
    "complex long double": (np.array([1.5j], "G"), "pairs of long doubles", [1.5j]),
    "objects": (np.array([1, 2.5], "O"), "references to Python objects", [1, 2.5]),
    "records": (PACKED, "records", [1, 3]),
    "field of packed records": (PACKED["f1"], "A stride is no multiple of an element", [2.5, 4.5]),
}


def refusal(inspection: Inspection, words: str) -> Oddity:
    (found,) = (each for each in inspection.oddities if words in each.what)
    return found


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses(name: str) -> None:
    x, words, numbers = REFUSED[name]
    with pytest.raises((BufferError, RuntimeError, TypeError)):
        np.from_dlpack(x)
    found = refusal(inspect(x), words)
    assert (found.level, found.who) == ("risk", "consumers of DLPack refuse it")
    expression = found.repair.partition(": ")[2]
    helped = eval(expression, {"x": x})
    assert np.from_dlpack(helped).tolist() == numbers
    assert not any("DLPack refuse it" in each.who for each in inspect(helped).oddities)


def test_text_has_no_expression_that_helps() -> None:
    assert refusal(inspect(np.array(["abc"])), "text").repair == "pass numbers"
    assert refusal(inspect(np.array([b"abc"])), "text").repair == "pass numbers"


def test_records_of_another_exporter() -> None:
    x = memoryview(PACKED)  # type: ignore[arg-type]  # NumPy's stubs lack __buffer__
    assert refusal(inspect(x), "have no dtype in DLPack").level == "note"


@pytest.mark.parametrize(
    "name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float6_e2m3fn", "int4", "uint2"]
)
def test_a_dtype_that_dlpack_has_and_numpy_refuses(name: str) -> None:
    inspection = inspect(np.ones(3, getattr(ml_dtypes, name)))
    found = refusal(inspection, "which DLPack has")
    assert found.what.startswith(f"Its dtype is {name}, which DLPack has, but its own __dlpack__ ")
    assert ("register_dlpack_dtype" in found.repair) == REGISTERS
    assert "have no dtype in DLPack" not in inspection.text()


def of_bfloat16(by_dlbridge: str, numpy: str) -> str:
    x = inspect(np.ones(3, ml_dtypes.bfloat16))
    subject = dataclasses.replace(x.subject, by_dlbridge=by_dlbridge)
    other = dataclasses.replace(x, subject=subject, installed={"numpy": numpy})
    return refusal(other, "which DLPack has").repair


def test_the_ways_to_pass_such_a_dtype() -> None:
    """What dlbridge does was tried on the array itself; NumPy's registry is there from 2.5 on."""
    ours = "dlbridge.from_dlpack(x) reads it, and exports bfloat16"
    theirs = "numpy.dtypes.register_dlpack_dtype((4, 16), x.dtype) lets NumPy export it"
    refusing = "BufferError: unsupported"
    assert of_bfloat16("writable", "2.4.6") == ours
    assert of_bfloat16("writable", "2.5.5") == f"{ours}; {theirs}"
    assert of_bfloat16(refusing, "2.5.5") == theirs
    assert of_bfloat16(refusing, "2.4.6") == 'pass other numbers: x.astype("f4")'
    x = np.ones(3, ml_dtypes.bfloat16)
    assert np.from_dlpack(x.astype("f4")).tolist() == [1, 1, 1]


def test_the_registry_of_numpy() -> None:
    """NumPy has none before 2.5."""
    program = (
        "import ml_dtypes, numpy\n"
        "x = numpy.ones(3, ml_dtypes.bfloat16)\n"
        f"{of_bfloat16('', '2.5.5').partition(' lets')[0]}\n"
        "print(numpy.from_dlpack(x).dtype)\n"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert process.stdout.strip() == ("bfloat16" if REGISTERS else ""), process.stderr
    assert ("no attribute 'register_dlpack_dtype'" in process.stderr) != REGISTERS


# Arrays that never change -----------------------------------------------------------------------


class Frozen:
    """A legacy export, as JAX 0.10 and TensorFlow have them, of a type that says nothing."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def __dlpack_device__(self) -> tuple[int, int]:
        return abi.CPU

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> Any:
        data = abi.memory(bytes(16))
        return abi.make(
            data=data, shape=(4,), strides=(1,), dtype=(2, 32, 1), **self.fields
        ).capsule()


def frozen(type_: str, **fields: Any) -> Any:
    module, _, name = type_.rpartition(".")
    return type(name, (Frozen,), {"__module__": module})(**fields)


@pytest.mark.parametrize(
    ("type_", "title"),
    [
        ("jaxlib._jax.ArrayImpl", "JAX"),
        ("tensorflow.python.framework.ops.EagerTensor", "TensorFlow"),
    ],
)
def test_an_immutable_array_is_reported(type_: str, title: str) -> None:
    x = inspect(frozen(type_, version=None))
    assert x.subject.immutable == title
    text = f"It is immutable: {title} never changes its arrays; dlbridge treats it as "
    found = refusal(x, text)
    assert found.level == "risk"
    is_protected = dlbridge.from_dlpack(frozen(type_, version=None)).readonly
    treated = "read-only" if is_protected else "writable"
    assert found.what == f"{text}{treated}."
    marked = refusal(inspect(frozen(type_, version=(1, 3), flags=abi.READ_ONLY)), "It is immutable")
    assert (marked.level, marked.repair) == ("note", "")
    assert marked.what == f"{text}read-only."


def test_an_array_that_may_change_is_not() -> None:
    for type_ in ("tensorflow.python.ops.resource_variable_ops.ResourceVariable", "mlx.core.array"):
        assert inspect(frozen(type_, version=None)).subject.immutable == ""
    assert inspect(np.ones(3)).subject.immutable == ""


def test_the_repair_of_an_immutable_array() -> None:
    x = frozen("jaxlib._jax.ArrayImpl", version=None)
    unprotected = dataclasses.replace(inspect(x).subject, by_dlbridge="writable")
    other = dataclasses.replace(inspect(x), subject=unprotected)
    repair = refusal(other, "It is immutable").repair
    match = re.match(r"pass (dlbridge.from_dlpack\(x, readonly=True\))$", repair)
    assert match is not None
    assert eval(match[1], {"dlbridge": dlbridge, "x": x}).readonly


def test_the_repair_of_a_layout_or_mark_that_some_consumers_misuse() -> None:
    constant = np.arange(3.0)
    constant.flags.writeable = False
    for x, what in ((np.arange(3.0)[::-1], "A stride is negative"), (constant, "It is read-only")):
        copied = eval(
            refusal(inspect(x), what).repair.partition(": ")[2], {"dlbridge": dlbridge, "x": x}
        )
        assert copied.strides == (1,) and not copied.readonly
        assert copied.tolist() == x.tolist()
