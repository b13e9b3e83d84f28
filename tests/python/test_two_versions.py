# SPDX-License-Identifier: BSD-3-Clause
"""Extension modules built from different versions of the headers share no state of dlbridge."""

import importlib
import itertools
import os
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

MODULES = Path(os.environ["DLBRIDGE_TEST_MODULES"])
VISIBILITIES = ["hidden", "default"]
VERSIONS = ["this_version", "other_version"]

# Exception types are visible, so that other libraries can catch them. Type information of types
# outside dlbridge that mention its types, such as float (dlbridge::tensor_span), is constant.
SHARED_ON_PURPOSE = re.compile(
    r"((typeinfo|typeinfo name|vtable) for )?dlbridge::\w+::(python::python_)?error(::.*)?$"
    r"|(typeinfo|typeinfo name|vtable) for (?!dlbridge::)"
)


def load(version: str, visibility: str) -> ModuleType:
    return importlib.import_module(f"{version}_{visibility}")


def symbols(version: str, visibility: str) -> list[tuple[str, str]]:
    """Kind and name of every dynamic symbol of dlbridge in the module."""
    (path,) = MODULES.glob(f"{version}_{visibility}.*so")
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", "--demangle", str(path)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    entries = [line.split(maxsplit=2)[1:] for line in listing.splitlines()]
    return [(kind, name) for kind, name in entries if "dlbridge" in name]


def is_in_dlbridge(name: str) -> bool:
    """Whether the symbol is in the namespace; std::optional of a type of dlbridge is not."""
    outside, depth = "", 0
    for character in name:
        depth += {"<": 1, ">": -1, "(": 1, ")": -1}.get(character, 0)
        outside += character if depth == 0 else ""
    return "dlbridge::" in outside


@pytest.mark.parametrize(
    ("version", "visibility"),
    [*itertools.product(VERSIONS, VISIBILITIES), ("nanobind", "default")],
)
def test_no_object_is_shared(version: str, visibility: str) -> None:
    """No unique symbol and no data: the state is hidden, also if every function is visible."""
    shared = [
        (kind, name)
        for kind, name in symbols(version, visibility)
        if kind not in "TW" and not SHARED_ON_PURPOSE.match(name)
    ]
    assert shared == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_pybind11_module_has_no_visible_function(version: str) -> None:
    entries = symbols(version, "hidden")
    names = [
        name for _, name in entries if is_in_dlbridge(name) and not SHARED_ON_PURPOSE.match(name)
    ]
    assert names == []


def test_visible_functions_are_listed() -> None:
    """The negative control: a module with default visibility has visible functions."""
    assert any(
        is_in_dlbridge(name) for kind, name in symbols("this_version", "default") if kind == "W"
    )


@pytest.mark.parametrize("visibility", VISIBILITIES)
def test_both_versions_in_one_process(visibility: str) -> None:
    this, other = (load(version, visibility) for version in VERSIONS)
    assert this.minor != other.minor == 99
    assert this.Tensor is not other.Tensor
    for producer, consumer in ((this, other), (other, this)):
        vector = producer.vector(5)
        tensor = consumer.from_dlpack(vector)
        assert type(tensor) is consumer.Tensor
        assert tensor.data_ptr == vector.data_ptr
        del vector
        assert memoryview(tensor).tolist() == [1.0] * 5
        assert producer.refuse() == "size overflows: expected less; got more"


@pytest.mark.parametrize("visibility", VISIBILITIES)
def test_each_version_accepts_objects_of_the_other(visibility: str) -> None:
    this, other = (load(version, visibility) for version in VERSIONS)
    for producer, consumer in ((this, other), (other, this)):
        for name in ("total", "total_fast", "total_plain"):
            assert getattr(consumer, name)(producer.Ramp()) == 6
            assert getattr(consumer, name)(producer.counted()) == 3
        with pytest.raises(TypeError, match="rank differs"):
            consumer.total_fast(producer.as_tensor(memoryview(b"1234").cast("f", [1, 1])))
