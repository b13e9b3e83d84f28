# SPDX-License-Identifier: BSD-3-Clause
"""Types: what isinstance tells of dlbridge.typing, and annotations that programs evaluate."""

from __future__ import annotations

import array
import importlib
import inspect
import pkgutil
import subprocess
import sys
import typing
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import dlbridge
from dlbridge.typing import SupportsDLPack, SupportsStream

MODULES = [
    "dlbridge",
    *(
        module.name
        for module in pkgutil.walk_packages(dlbridge.__path__, "dlbridge.")
        if not module.name.endswith("__main__")
    ),
]


def test_isinstance_of_the_protocols() -> None:
    tensor = dlbridge.as_tensor(array.array("f", [1.0]))
    assert isinstance(tensor, SupportsDLPack)
    assert not hasattr(tensor, "__cuda_stream__")
    with pytest.raises(TypeError):  # it would see that the type has the attribute on other devices
        isinstance(tensor, SupportsStream)  # type: ignore[misc]


def annotated(module: ModuleType) -> Iterator[Any]:
    """Yields the functions and classes that a module defines, and the methods of the classes."""
    for value in vars(module).values():
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(value):
            yield value
        elif inspect.isclass(value):
            yield value
            for member in vars(value).values():
                function = member.fget if isinstance(member, property) else member
                function = getattr(function, "__func__", function)
                if inspect.isfunction(function):
                    yield function


@pytest.mark.skipif(sys.version_info < (3, 10), reason="Python 3.9 cannot evaluate `int | None`")
@pytest.mark.parametrize("name", MODULES)
def test_annotations_can_be_evaluated(name: str) -> None:
    for value in annotated(importlib.import_module(name)):
        typing.get_type_hints(value)


INSPECT_HINTS = """
import sys, typing, dlbridge
assert not any(name.startswith("dlbridge.tools") for name in sys.modules)
print(typing.get_type_hints(dlbridge.inspect)["return"] is dlbridge.Inspection)
print(isinstance(dlbridge.inspect(b"abc"), dlbridge.Inspection))
"""


@pytest.mark.skipif(sys.version_info < (3, 10), reason="Python 3.9 cannot evaluate `bool | None`")
def test_the_result_of_inspect_has_a_name() -> None:
    """The name imports the tools, which `import dlbridge` does not."""
    program = [sys.executable, "-c", INSPECT_HINTS]
    process = subprocess.run(program, capture_output=True, text=True)
    assert (process.stdout, process.stderr) == ("True\nTrue\n", "")
