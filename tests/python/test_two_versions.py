"""Two extension modules built from different versions of the headers share nothing of ours."""

import importlib
import os
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

MODULES = Path(os.environ["DLBRIDGE_TEST_MODULES"])
VISIBILITIES = ["hidden", "default"]
VERSIONS = ["this_version", "other_version"]

# The types of exceptions are public, so that they are caught across libraries by their type. Types
# of others that mention ours, such as float (dlbridge::tensor_span), are constants.
SHARED_ON_PURPOSE = re.compile(
    r"((typeinfo|typeinfo name|vtable) for )?dlbridge::\w+::(python::python_)?error(::.*)?$"
    r"|(typeinfo|typeinfo name|vtable) for (?!dlbridge::)"
)


def load(version: str, visibility: str) -> ModuleType:
    return importlib.import_module(f"{version}_{visibility}")


def symbols(version: str, visibility: str) -> list[tuple[str, str]]:
    """Kind and name of every symbol of ours that the module offers to others."""
    (path,) = MODULES.glob(f"{version}_{visibility}.*so")
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", "--demangle", str(path)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    found = [line.split(maxsplit=2)[1:] for line in listing.splitlines()]
    return [(kind, name) for kind, name in found if "dlbridge" in name]


def is_ours(name: str) -> bool:
    """Whether it stands in our namespace; std::optional of a type of ours does not."""
    outside, depth = "", 0
    for character in name:
        depth += {"<": 1, ">": -1, "(": 1, ")": -1}.get(character, 0)
        outside += character if depth == 0 else ""
    return "dlbridge::" in outside


@pytest.mark.parametrize("visibility", VISIBILITIES)
@pytest.mark.parametrize("version", VERSIONS)
def test_no_object_of_ours_is_shared(version: str, visibility: str) -> None:
    """No unique symbol, no data: with every function visible, the state is hidden all the same."""
    shared = [
        (kind, name)
        for kind, name in symbols(version, visibility)
        if kind not in "TW" and not SHARED_ON_PURPOSE.match(name)
    ]
    assert shared == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_module_as_pybind11_builds_it_shows_no_function_either(version: str) -> None:
    listed = symbols(version, "hidden")
    shown = [name for _, name in listed if is_ours(name) and not SHARED_ON_PURPOSE.match(name)]
    assert shown == []


def test_the_listing_would_show_ours() -> None:
    """The negative control: with everything visible there are functions of ours to be seen."""
    assert any(is_ours(name) for kind, name in symbols("this_version", "default") if kind == "W")


@pytest.mark.parametrize("visibility", VISIBILITIES)
def test_both_work_in_one_process(visibility: str) -> None:
    this, other = (load(version, visibility) for version in VERSIONS)
    assert this.minor != other.minor == 99
    assert this.Tensor is not other.Tensor
    for giver, taker in ((this, other), (other, this)):
        given = giver.vector(5)
        taken = taker.from_dlpack(given)
        assert type(taken) is taker.Tensor
        assert taken.data_ptr == given.data_ptr
        del given
        assert memoryview(taken).tolist() == [1.0] * 5
        assert giver.refuse() == "size overflows: expected less; got more"


@pytest.mark.parametrize("visibility", VISIBILITIES)
def test_each_takes_the_classes_and_results_of_the_other(visibility: str) -> None:
    this, other = (load(version, visibility) for version in VERSIONS)
    for giver, taker in ((this, other), (other, this)):
        for name in ("total", "total_fast", "total_plain"):
            assert getattr(taker, name)(giver.Ramp()) == 6
            assert getattr(taker, name)(giver.counted()) == 3
        with pytest.raises(TypeError, match="rank differs"):
            taker.total_fast(giver.as_tensor(memoryview(b"1234").cast("f", [1, 1])))
