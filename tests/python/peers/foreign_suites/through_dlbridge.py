# SPDX-License-Identifier: BSD-3-Clause
"""A pytest plugin for the DLPack tests of libraries: every exchange passes through dlbridge.

    DLBRIDGE_ROLE=consumer pytest -p through_dlbridge --pyargs dpctl.tests.test_usm_ndarray_dlpack

native    The library exchanges with itself, as its own tests do.
consumer  dlbridge imports what from_dlpack and from_dlpack_capsule receive. The library receives
          the Tensor, or a capsule of it. dlbridge requests a copy, and the CPU, of the producer; a
          SYCL device is a request to the library.
producer  A Tensor on the memory of the array answers each call of the array's __dlpack__.

run.py runs all three. The outcomes go to the file DLBRIDGE_OUTCOMES.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import warnings
from pathlib import Path
from typing import Any, Callable

import pytest

import dlbridge

ROLE = os.environ.get("DLBRIDGE_ROLE", "native")
CPU = (1, 0)
MODULES = ("dpctl.tensor", "dpnp.tensor")  # whichever the environment has
# Of the other libraries: the modules with from_dlpack, the first of which also has asarray.
OTHERS = {"numpy": ("numpy",), "jax": ("jax.numpy", "jax.dlpack")}
LIBRARY = os.environ.get("DLBRIDGE_SUITE", "")

exchanges = 0
outcomes: dict[str, tuple[str, str]] = {}  # by test: passed, failed or skipped, and the reason


class OwnExport:
    """An array with the __dlpack__ of its library, while that of its class is replaced."""

    def __init__(self, array: Any, export: Callable[..., Any]) -> None:
        self.array, self.export = array, export
        if hasattr(array, "sycl_queue"):
            self.sycl_queue = array.sycl_queue

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.export(self.array, **keywords)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def consume(tensor_module: Any, internals: Any) -> None:
    """Puts dlbridge before the two functions that import."""
    own_import, own_capsule = internals.from_dlpack, internals.from_dlpack_capsule

    def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
        global exchanges
        to_cpu = isinstance(device, tuple) and device[:1] == CPU[:1]
        t = dlbridge.from_dlpack(x, device=CPU if to_cpu else None, copy=copy)
        exchanges += 1
        return own_import(t, device=device)

    def from_dlpack_capsule(capsule: Any) -> Any:
        global exchanges
        versioned = "versioned" in str(capsule)
        t = dlbridge.from_dlpack(capsule)
        exchanges += 1
        return own_capsule(t.__dlpack__(max_version=(1, 0) if versioned else None))

    for module in (tensor_module, internals):
        module.from_dlpack = from_dlpack
    internals.from_dlpack_capsule = from_dlpack_capsule


def consume_plainly(module: Any) -> None:
    """Puts dlbridge before from_dlpack. dlbridge requests what a keyword asks for, if it can."""
    own_import = module.from_dlpack

    def from_dlpack(x: Any, /, *arguments: Any, **keywords: Any) -> Any:
        global exchanges
        asked = {key: value for key, value in keywords.items() if _is_for_dlbridge(key, value)}
        t = dlbridge.from_dlpack(x, **asked)
        exchanges += 1
        left = {key: value for key, value in keywords.items() if key not in asked or value is False}
        return own_import(t, *arguments, **left)

    module.from_dlpack = from_dlpack


def _is_for_dlbridge(keyword: str, value: Any) -> bool:
    return keyword == "copy" or (keyword == "device" and value == "cpu")


def produce(array_type: type) -> None:
    """Puts dlbridge behind the method that exports. The class is compiled, so that its dictionary
    cannot be assigned to."""
    dictionary = gc.get_referents(array_type.__dict__)[0]
    export = dictionary["__dlpack__"]

    def __dlpack__(self: Any, **keywords: Any) -> Any:
        global exchanges
        t = dlbridge.from_dlpack(OwnExport(self, export))
        exchanges += 1
        return t.__dlpack__(**keywords)

    dictionary["__dlpack__"] = __dlpack__
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(array_type))


def pytest_configure() -> None:
    if LIBRARY in OTHERS:
        modules = [importlib.import_module(name) for name in OTHERS[LIBRARY]]
        if ROLE == "consumer":
            for module in modules:
                consume_plainly(module)
        elif ROLE == "producer":
            produce(type(modules[0].asarray([1.0])))
        return
    for name in MODULES:
        with warnings.catch_warnings():  # dpctl announces that its arrays move to dpnp
            warnings.simplefilter("ignore")
            try:
                module = importlib.import_module(name)
            except ModuleNotFoundError:
                continue
        if ROLE == "consumer":
            consume(module, importlib.import_module(f"{name}._dlpack"))
        elif ROLE == "producer":
            produce(module.usm_ndarray)


def pytest_itemcollected(item: pytest.Item) -> None:
    item.user_properties.append(("file", item.path.stem))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when != "call" and report.outcome == "passed":
        return
    reason = getattr(report.longrepr, "reprcrash", None)
    text = str(reason.message).splitlines()[0] if reason else ""
    name = report.nodeid.partition("::")[2]
    outcomes[f"{dict(report.user_properties)['file']}::{name}"] = (report.outcome, text)


def pytest_sessionfinish() -> None:
    recorded = {"role": ROLE, "exchanges": exchanges, "outcomes": outcomes}
    Path(os.environ["DLBRIDGE_OUTCOMES"]).write_text(json.dumps(recorded, indent=1))
