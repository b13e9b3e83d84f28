# SPDX-License-Identifier: BSD-3-Clause
"""The table of signatures: each function, bound by each library and called from each library,
returns what its row states, or refuses the call with the sentence of its row."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Iterator
from functools import reduce
from typing import Any

import callers
import pytest
from signatures import ROWS, Array, Call, Made, Refusal, Row

import dlbridge
from bindings import MODULES

CALLERS = ("numpy", "torch", "jax", "tvm_ffi", "dlbridge")
LIBRARIES = {name: callers.LIBRARIES[name] for name in CALLERS}
# The bindings whose module was built.
BINDINGS = [
    name
    for name, module in (
        ("pybind11", "signatures_pybind11"),
        ("fast", "signatures_pybind11"),
        ("nanobind", "signatures_nanobind"),
    )
    if importlib.util.find_spec(module)
]

CALLS = [
    pytest.param(row, call, binding, id=f"{binding}-{row.name}-{i}")
    for row in ROWS
    for i, call in enumerate(row.calls)
    for binding in (*BINDINGS, *MODULES)
    if binding in row.bindings
]


def made(library: callers.Library, x: Any, module: Any) -> Any:
    """The argument with arrays of the library in place of each Array."""
    if isinstance(x, Array):
        return library.make(x.values, x.dtype)
    if isinstance(x, Made):
        return getattr(module, x.type)(*made(library, x.arguments, module))
    if isinstance(x, dict):
        return {key: made(library, value, module) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(made(library, each, module) for each in x)
    return x


def is_rounded(library: callers.Library, expected: Any) -> bool:
    """Whether a result has an array with a dtype that the library lacks."""
    if isinstance(expected, Array):
        owner = LIBRARIES[expected.of] if expected.of else library
        return expected.dtype == "float64" and not owner.has_float64
    if isinstance(expected, dict):
        return is_rounded(library, list(expected.values()))
    return isinstance(expected, (list, tuple)) and any(is_rounded(library, x) for x in expected)


def check(library: callers.Library, got: Any, expected: Any) -> None:
    """Compares a result with that of the row. An Array stands for one of the library."""
    if isinstance(expected, Array):
        owner = LIBRARIES[expected.of] if expected.of else library
        assert callers.is_array_of(owner, got), type(got)
        assert callers.values(got) == expected.values
        assert dlbridge.from_dlpack(got).dtype == expected.dtype
    elif isinstance(expected, dict):
        assert isinstance(got, dict) and list(got) == list(expected)
        for key, value in expected.items():
            check(library, got[key], value)
    elif isinstance(expected, (list, tuple)):
        assert type(got) is type(expected) and len(got) == len(expected)
        for one, other in zip(got, expected):
            check(library, one, other)
    else:
        assert type(got) is type(expected) and got == expected


def module_of(binding: str) -> Any:
    """The module, or submodule, with the functions that a binding bound."""
    if binding == "fast":
        return importlib.import_module("signatures_pybind11").fast
    if binding in MODULES:
        return importlib.import_module(binding).members
    return importlib.import_module(f"signatures_{binding}")


@pytest.mark.parametrize(("row", "call", "binding"), CALLS)
def test_call(library: callers.Library, row: Row, call: Call, binding: str) -> None:
    module = module_of(binding)
    function: Any = reduce(getattr, row.name.split("."), module)
    arguments = made(library, call.arguments, module)
    keywords = made(library, call.keywords, module)
    expected = call.by.get(library.name, call.result)
    if isinstance(expected, Refusal):
        with pytest.raises(expected.type) as raised:
            function(*arguments, **keywords)
        pattern = ".*".join(re.escape(part) for part in expected.message.split("…"))
        assert re.fullmatch(pattern, str(raised.value), re.DOTALL), str(raised.value)
        return
    if is_rounded(library, expected):
        with pytest.raises(BufferError, match=r"as the function returned; got .* of float32"):
            function(*arguments, **keywords)
        return
    result = function(*arguments, **keywords)
    check(library, list(result) if isinstance(result, Iterator) else result, expected)
    for argument, value in zip(arguments, call.after or ()):
        check(library, argument, value)
