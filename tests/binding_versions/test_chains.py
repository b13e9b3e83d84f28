# SPDX-License-Identifier: BSD-3-Clause
"""Overloads of dlbridge::def and of m.def in one chain, with several versions of pybind11 and of
nanobind in one process."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDER = Path(os.environ["DLBRIDGE_TEST_MODULES"])
MODULES = sorted(path.name.split(".")[0] for path in FOLDER.glob("*.so"))
NAMES = ["def_first", "plain_first", "plain_last"]


def test_the_versions() -> None:
    assert [name.split("_")[0] for name in MODULES] == ["nanobind"] * 2 + ["pybind11"] * 2


@pytest.fixture(params=MODULES)
def module(request: pytest.FixtureRequest) -> Any:
    for name in MODULES:  # all of them, in one process
        importlib.import_module(name)
    return importlib.import_module(request.param)


@pytest.mark.parametrize("name", NAMES)
def test_every_overload_is_reached(module: Any, name: str) -> None:
    function = getattr(module, name)
    assert function(np.ones(2, "float32")) == function(x=np.ones(2, "float32")) == "float32"
    assert function(np.ones(2)) == function(x=np.ones(2)) == "float64"
    assert function("a") == function(x="a") == "text"
    capsule = np.ones(2).__dlpack__()  # which one overload alone could consume
    assert function(capsule) == "float64"


@pytest.mark.parametrize("name", NAMES)
def test_a_refused_call(module: Any, name: str) -> None:
    with pytest.raises(TypeError) as raised:
        getattr(module, name)(np.ones(2, "int8"))
    text = str(raised.value)
    if name == "plain_last" and module.__name__.startswith("nanobind"):
        assert text.startswith("plain_last(): incompatible function arguments")
        return
    assert text.startswith(f"{name}(): no overload takes these arguments:\n1. {name}(x: ")
    for dtype in ("float32", "float64"):
        assert (
            f"argument 'x': expected {dtype}[*] on cpu; got int8[2] on cpu: dtype differs" in text
        )
    assert text.count("the arguments are not those of this signature") == 1
