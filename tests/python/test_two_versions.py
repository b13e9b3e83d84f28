# SPDX-License-Identifier: BSD-3-Clause
"""Extension modules of two versions of the headers, or of two modes, share no state of dlbridge."""

import importlib
import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

MODULES = Path(os.environ["DLBRIDGE_TEST_MODULES"])
VISIBILITIES = ["hidden", "default"]
VERSIONS = ["this_version", "other_version", "compiled"]
NANOBIND = [(name, "default") for name in ("nanobind", "nanobind_other", "nanobind_compiled")]

# Exception types are visible, so that other libraries can catch them. Type information of types
# outside dlbridge that mention its types, such as float (dlbridge::tensor_span), is constant.
SHARED_ON_PURPOSE = re.compile(
    r"((typeinfo|typeinfo name|vtable) for )?dlbridge::\w+::(python::python_)?error(::.*)?$"
    r"|(typeinfo|typeinfo name|vtable) for (?!dlbridge::)"
)
OF_PYTHON_HEADERS = re.compile(
    r"[^<(]*(dlbridge::\w+::(python::|def(_\w+)?[<(])|bind(11)?::detail::type_caster)"
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
    is_of_std = re.search(r"(^|\s)std::\w+[>)]*$", outside)  # of which dlbridge is the result
    return "dlbridge::" in outside and not is_of_std


@pytest.mark.parametrize(
    ("version", "visibility"),
    [*itertools.product(VERSIONS, VISIBILITIES), *NANOBIND],
)
def test_no_object_is_shared(version: str, visibility: str) -> None:
    """No unique symbol and no data: the state is hidden, also if every function is visible."""
    shared = [
        (kind, name)
        for kind, name in symbols(version, visibility)
        if kind not in "TW" and not SHARED_ON_PURPOSE.match(name)
    ]
    assert shared == []


@pytest.mark.parametrize(
    "module",
    [(name, "default") for name in ("this_version", "compiled", "nanobind", "nanobind_compiled")],
)
def test_no_function_that_uses_state_is_visible(module: tuple[str, str]) -> None:
    """Those of the Python headers, also with default visibility."""
    visible = [
        name
        for _, name in symbols(*module)
        if OF_PYTHON_HEADERS.match(name)
        and is_in_dlbridge(name)
        and "::python_error::" not in name
        and not SHARED_ON_PURPOSE.match(name)
    ]
    assert visible == []


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


def test_the_versions_differ() -> None:
    this, other, compiled = (load(version, "hidden") for version in VERSIONS)
    assert this.minor == compiled.minor != other.minor == 99


@pytest.mark.parametrize("visibility", VISIBILITIES)
def test_all_versions_in_one_process(visibility: str) -> None:
    modules = [load(version, visibility) for version in VERSIONS]
    for producer, consumer in itertools.permutations(modules, 2):
        assert producer.Tensor is not consumer.Tensor
        vector = producer.vector(5)
        tensor = consumer.from_dlpack(vector)
        assert type(tensor) is consumer.Tensor
        assert tensor.data_ptr == vector.data_ptr
        del vector
        assert memoryview(tensor).tolist() == [1.0] * 5


@pytest.mark.parametrize("visibility", VISIBILITIES)
def test_modules_of_one_version_catch_the_exceptions_of_each_other(visibility: str) -> None:
    modules = [load(version, visibility) for version in VERSIONS]
    for thrower, catcher in itertools.product(modules, repeat=2):
        kind = "dlbridge::error" if thrower.minor == catcher.minor else "std::exception"
        text = f"{kind}: size overflows: expected less; got more"
        assert catcher.caught(thrower.refuse) == text


@pytest.mark.parametrize("version", ["this_version", "compiled"])
def test_a_module_uses_a_static_library_of_the_other_mode(version: str) -> None:
    module = load(version, "default")
    before = module.deleted()
    tensor = module.library_counted()
    assert memoryview(tensor).tolist() == [0, 1, 2]
    assert module.library_total(tensor) == 3
    assert module.deleted() == before
    del tensor
    assert module.deleted() == before + 1
    with pytest.raises(BufferError, match=r"expected float32\[\*\] on cpu; got uint8\[2\]"):
        module.library_total(module.as_tensor(memoryview(b"12")))


@pytest.mark.parametrize("visibility", VISIBILITIES)
def test_each_version_accepts_objects_of_the_other(visibility: str) -> None:
    modules = [load(version, visibility) for version in VERSIONS]
    for producer, consumer in itertools.permutations(modules, 2):
        for name in ("total", "total_fast", "total_plain"):
            assert getattr(consumer, name)(producer.Ramp()) == 6
            assert getattr(consumer, name)(producer.counted()) == 3
        with pytest.raises(TypeError, match="rank differs"):
            consumer.total_fast(producer.as_tensor(memoryview(b"1234").cast("f", [1, 1])))


# Loads modules so that each one's visible functions replace those of the later ones, and calls each
# with arrays of NumPy and of the others.
CALLS_WITH_GLOBAL_SYMBOLS = """
import importlib.machinery, importlib.util, os, sys
import numpy as np

sys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)

def load(path):
    name = os.path.basename(path).split(".")[0]
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module

modules = [load(path) for path in sys.argv[1:]]
x = np.ones(3, np.float32)
for one in modules:
    assert one.total(x) == one.total_fast(x) == 3
    assert one.kind(x) == "float" and one.kind(x.astype(np.float64)) == "double"
    for refuses in (one.total, one.total_fast, one.kind):
        try:
            refuses(x.astype(np.int32))
        except TypeError as error:
            assert "expected float32[*] on cpu; got int32[3] on cpu: dtype differs" in str(error)
        else:
            raise AssertionError(refuses)
    if hasattr(one, "from_dlpack"):
        assert type(one.vector(2)) is type(one.from_dlpack(x)) is one.Tensor
    if hasattr(one, "caught"):
        assert one.caught(one.refuse).startswith("dlbridge::error: size overflows")
    for other in modules:
        assert one.total(other.counted()) == one.total_fast(other.counted()) == 3
        assert np.from_dlpack(other.counted()).tolist() == [0, 1, 2]
print("all calls were right")
"""
LOADED_WITH_GLOBAL_SYMBOLS = [
    *itertools.permutations(["this_version_default", "other_version_default"], 2),
    *itertools.permutations(["this_version_hidden", "other_version_default"], 2),
    *itertools.permutations(["nanobind_default", "nanobind_other_default"], 2),
    *itertools.permutations(["this_version_default", "nanobind_default"], 2),
    *itertools.permutations(["other_version_default", "nanobind_default"], 2),
    *itertools.permutations(["this_version_default", "compiled_default"], 2),
    *itertools.permutations(["this_version_default", "nanobind_compiled_default"], 2),
    *itertools.permutations(["nanobind_default", "compiled_default"], 2),
    *itertools.permutations(["compiled_hidden", "compiled_default"], 2),
    *[
        (name, name)
        for name in (
            "this_version_default",
            "this_version_hidden",
            "nanobind_default",
            "compiled_default",
        )
    ],
]


@pytest.mark.parametrize("names", LOADED_WITH_GLOBAL_SYMBOLS, ids=" then ".join)
def test_modules_with_global_symbols(names: tuple[str, str], tmp_path: Path) -> None:
    """The loader merges the visible functions of modules that are loaded with RTLD_GLOBAL."""
    paths = [next(MODULES.glob(f"{name}.*so")) for name in names]
    if names[0] == names[1]:  # the loader takes a copy for another library
        paths[1] = Path(shutil.copy(paths[1], tmp_path))
    command = [sys.executable, "-c", CALLS_WITH_GLOBAL_SYMBOLS, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "all calls were right\n"), done.stderr
