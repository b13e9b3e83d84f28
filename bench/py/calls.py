# SPDX-License-Identifier: BSD-3-Clause
"""The calls that the benchmarks compare, by name: dlbridge's, and those of the other libraries.

A library that is not installed has no calls, and `missing` says why. A call that its library
refuses is in `refused` with the exception.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import Any, Callable

import bench_loop
import numpy as np
from bare_producer import Bare
from paired import Case

import dlbridge

VERSION = {"max_version": (1, 3)}
EMPTY = "empty call"
# What the other libraries omit in the calls that are compared with dlbridge's.
OMITTED = {
    "tvm_ffi": "`tvm_ffi.from_dlpack` checks neither version nor flags nor extents, and its "
    "function takes any objects and checks nothing",
    "nanobind": "nanobind checks dtype and device, but not version, flags and overflow, and "
    "passes no stream",
    "bare C": "the bare producer in C checks nothing and keeps no memory for later exports",
}
PEERS = ("torch", "tvm_ffi", "jax", "arguments_nanobind")


@dataclass
class Calls:
    """Calls by name, with the group in which the report shows them."""

    cases: dict[str, Case] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)  # by library
    refused: dict[str, str] = field(default_factory=dict)  # by call

    def add(
        self,
        group: str,
        name: str,
        function: Callable[..., Any],
        *arguments: Any,
        keywords: dict[str, Any] | None = None,
        fails: bool = False,
    ) -> None:
        try:
            function(*arguments, **(keywords or {}))
        except Exception as error:
            if not fails:
                self.refused[name] = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
                return
        self.cases[name] = Case(name, function, arguments, keywords, fails)
        self.groups.setdefault(group, []).append(name)

    def why_not(self, name: str) -> str:
        """Why a call does not exist."""
        if name in self.refused:
            return f"{name} raised {self.refused[name]}"
        absent = [each for each in self.missing if each.replace("arguments_", "") in name]
        return "; ".join(self.missing[each] for each in absent) or f"there is no call {name}"


@dataclass(frozen=True)
class Libraries:
    """The other libraries; None where one is not installed."""

    torch: Any
    tvm_ffi: Any
    jax: Any
    nanobind: Any


def load(calls: Calls) -> Libraries:
    found: list[Any] = []
    for name in PEERS:
        try:
            found.append(importlib.import_module(name))
        except ImportError as error:
            found.append(None)
            calls.missing[name] = f"{name} cannot be imported: {error}"
    return Libraries(*found)


def by_protocol(array: Any) -> Any:
    """An array that every consumer imports by its `__dlpack__`, which is that of an ndarray."""
    with_method = array.view(type("WithMethod", (np.ndarray,), {}))
    with_method.__dlpack__ = array.__dlpack__
    return with_method


def producers(libraries: Libraries) -> dict[str, Any]:
    """An array of each library, float32 of shape (2, 3), and what has no library of its own."""
    array = np.arange(6, dtype="float32").reshape(2, 3)
    found: dict[str, Any] = {
        "ndarray": array,
        "ndarray subclass": array.view(type("Subclass", (np.ndarray,), {})),
        "ndarray by protocol": by_protocol(array),
        "bare C": Bare((2, 3)),
        "Tensor": dlbridge.from_dlpack(array),
    }
    if libraries.torch is not None:
        found["torch"] = libraries.torch.arange(6.0).reshape(2, 3)
    if libraries.tvm_ffi is not None:
        found["tvm_ffi"] = libraries.tvm_ffi.from_dlpack(array.copy())
    if libraries.jax is not None:
        found["jax"] = libraries.jax.numpy.arange(6.0, dtype="float32").reshape(2, 3)
    if libraries.nanobind is not None:
        found["nanobind"] = libraries.nanobind.to_nanobind()
    return found


def add_imports(calls: Calls, libraries: Libraries, arrays: dict[str, Any]) -> None:
    """Every consumer with every producer."""
    consumers: dict[str, Callable[..., Any]] = {
        "dlbridge.from_dlpack": dlbridge.from_dlpack,
        "np.from_dlpack": np.from_dlpack,
    }
    if libraries.torch is not None:
        consumers["torch.from_dlpack"] = libraries.torch.from_dlpack
    if libraries.tvm_ffi is not None:
        consumers["tvm_ffi.from_dlpack"] = libraries.tvm_ffi.from_dlpack
    if libraries.jax is not None:
        consumers["jax.numpy.from_dlpack"] = libraries.jax.numpy.from_dlpack
    for name, array in arrays.items():
        for consumer, function in consumers.items():
            calls.add(f"from_dlpack({name})", f"{consumer}({name})", function, array)
    for name in ("bare C", "torch", "Tensor"):
        if name in arrays:
            for how in ("view", "own", "round_trip"):
                if (function := getattr(bench_loop, f"{how}_by_table", None)) is not None:
                    label = f"C: {how.replace('_', ' ')} by table ({name})"
                    calls.add(f"from_dlpack({name})", label, function, arrays[name])


def add_conversions(calls: Calls, arrays: dict[str, Any]) -> None:
    array, tensor = arrays["ndarray"], arrays["Tensor"]
    group = "other ways into NumPy and buffers"
    calls.add(group, "np.asarray(Tensor)", np.asarray, tensor)
    calls.add(group, "np.asarray(memoryview)", np.asarray, memoryview(array))
    calls.add(group, "np.asarray(ndarray)", np.asarray, array)
    calls.add(group, "memoryview(Tensor)", memoryview, tensor)
    calls.add(group, "memoryview(ndarray)", memoryview, array)
    if "torch" in arrays:
        calls.add(group, "torch.Tensor.numpy()", type(arrays["torch"]).numpy, arrays["torch"])


def add_copies(calls: Calls) -> None:
    """Copies of 16 elements, in the order that the source has."""
    sources = {
        "4x4": np.ones((4, 4), dtype="float32"),
        "transposed 4x4": np.ones((4, 4), dtype="float32").T,
        "strided 4x4": np.ones((8, 8), dtype="float32")[::2, ::2],
    }
    for name, source in sources.items():
        calls.add("copies", f"dlbridge.from_dlpack({name}, copy=True)", dlbridge.from_dlpack,
                  source, keywords={"copy": True})  # fmt: skip
        calls.add("copies", f"ndarray.copy({name})", np.ndarray.copy, source, "K")


def add_exports(calls: Calls, arrays: dict[str, Any]) -> None:
    calls.add("export", "capsule handshake", bench_loop.handshake)
    for name, array in arrays.items():
        kind = type(array)
        if name == "ndarray subclass":
            continue
        calls.add("export", f"{name}.__dlpack__(max_version)", kind.__dlpack__, array,
                  keywords=VERSION)  # fmt: skip
        calls.add("export", f"{name}.__dlpack__()", kind.__dlpack__, array)
        calls.add("export", f"{name}.__dlpack_device__()", kind.__dlpack_device__, array)


def extension(calls: Calls, name: str = "arguments_dlbridge") -> Any:
    """An extension module that dlbridge binds, or None if it is not built."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        calls.missing[name] = f"{name} cannot be imported: {error}"
        return None


def add_bound(calls: Calls, prefix: str, ours: Any, arrays: dict[str, Any]) -> None:
    """The calls of an extension that dlbridge binds, in the mode that the prefix names."""
    for name in ("Tensor", "ndarray", "torch", "bare C"):
        if name not in arrays:
            continue
        x = arrays[name]
        group = f"a function that takes {name}"
        for how in ("fast", "caster", "def"):
            label = f"{prefix}def_fast" if how == "fast" else f"{prefix}{how}"
            calls.add(group, f"{label}({name})", getattr(ours, how), x)
            calls.add(group, f"{label}({name} x3)", getattr(ours, f"{how}3"), x, x, x)


def add_results(calls: Calls, prefix: str, ours: Any, arrays: dict[str, Any]) -> None:
    """Results of such an extension, as arrays of the caller's library."""
    for label, functions in (("def_fast", "fast_to_"), ("def", "to_")):
        for name in ("dlbridge", "numpy", "torch", "jax", "tvm_ffi"):
            function = getattr(ours, functions + name)
            calls.add("results", f"{prefix}{label} returns to {name}", function)
    for name in ("ndarray", "torch", "jax"):
        if name in arrays:
            calls.add("results", f"{prefix}def_fast empty_like({name})", ours.like, arrays[name])


def add_compiled(calls: Calls, arrays: dict[str, Any]) -> None:
    """The calls of the extension in compiled mode."""
    if (ours := extension(calls, "arguments_compiled")) is not None:
        add_bound(calls, "compiled ", ours, arrays)
        add_results(calls, "compiled ", ours, arrays)


def add_arguments(calls: Calls, libraries: Libraries, arrays: dict[str, Any]) -> None:
    """Functions with tensor parameters that do nothing, given the arrays of each library."""
    if (ours := extension(calls)) is None:
        return
    add_bound(calls, "", ours, arrays)
    nop = libraries.tvm_ffi and libraries.tvm_ffi.get_global_func("testing.nop")
    for name in ("Tensor", "ndarray", "torch", "bare C"):
        if name not in arrays:
            continue
        x = arrays[name]
        group = f"a function that takes {name}"
        calls.add(group, f"pybind11 no-op({name})", ours.object, x)
        if nop:
            calls.add(group, f"tvm_ffi nop({name})", nop, x)
            calls.add(group, f"tvm_ffi nop({name} x3)", nop, x, x, x)
        if name == "torch":
            for count in (8, 16):
                xs = (x,) * count
                calls.add(group, f"def_fast({name} x{count})", getattr(ours, f"fast{count}"), *xs)
                if nop:
                    calls.add(group, f"tvm_ffi nop({name} x{count})", nop, *xs)
        if libraries.nanobind is not None:
            calls.add(group, f"nanobind ndarray({name})", libraries.nanobind.argument, x)
            calls.add(group, f"nanobind ndarray({name} x3)", libraries.nanobind.argument3, x, x, x)
    takes = "a function that takes"
    calls.add(f"{takes} Tensor", "def_fast row-major matrix(Tensor)", ours.fast_matrix,
              arrays["Tensor"])  # fmt: skip
    if "torch" in arrays:
        calls.add(f"{takes} torch", "def_fast owned(torch)", ours.fast_owned, arrays["torch"])
    for how, function in (("def", ours.of_ten), ("m.def", ours.plain_of_ten)):
        calls.add(f"{takes} Tensor", f"{how}, the last of ten overloads(Tensor)", function,
                  arrays["Tensor"])  # fmt: skip
    x = arrays["ndarray"]
    for name, given in (("two_of", (x,)), ("two_of_three", (x, x, x)), ("two_of_number", (x, 2.0))):
        for how, prefix in (("def", ""), ("m.def", "plain_")):
            calls.add("the first of two overloads", f"{how} {name}(ndarray)",
                      getattr(ours, prefix + name), *given)  # fmt: skip
    for how, prefix in (("def or_other", ""), ("m.def py::buffer", "plain_")):
        calls.add(f"{takes} bytes", f"{how}(bytes)", getattr(ours, prefix + "bytes"), b"abc")
    wrong = np.zeros(6)
    calls.add(f"{takes} ndarray", "def_fast refuses a dtype", ours.fast, wrong, fails=True)


def add_choices(calls: Calls, libraries: Libraries) -> None:
    """A function of three dtypes, given the second one."""
    if (ours := extension(calls)) is None:
        return
    x = np.zeros((2, 3))
    arrays = {"ndarray": x, "Tensor": dlbridge.from_dlpack(x)}
    if libraries.torch is not None:
        arrays["torch"] = libraries.torch.from_numpy(x)
    for name, array in arrays.items():
        group = "a function of several dtypes"
        calls.add(group, f"def any_of({name})", ours.choice, array)
        calls.add(group, f"def any_tensor({name})", ours.any_tensor, array)
        if libraries.nanobind is not None:
            calls.add(group, f"nanobind dispatch({name})", libraries.nanobind.choice, array)


def add_vectorized(calls: Calls) -> None:
    """A function of two numbers, given arrays of 1 to 10^6 of them, or numbers."""
    if (ours := extension(calls, "vectorized_dlbridge")) is None:
        return
    given: dict[str, tuple[Any, Any]] = {"two numbers": (3.0, 2.0)}
    for size in (10**i for i in range(7)):
        x = np.linspace(0, 1, size)
        given[f"two arrays of {size:,}"] = x, x[::-1].copy()
        given[f"array of {size:,}, number"] = x, 2.0
    for name, operands in given.items():
        for how, function in (("dlbridge", ours.product), ("py", ours.py_product)):
            calls.add("vectorised functions", f"{how}::vectorize({name})", function, *operands)


def add_returns(calls: Calls, libraries: Libraries, arrays: dict[str, Any]) -> None:
    """Functions that return memory of C++ as an array of the caller's library, and the fastest
    constructors of these libraries."""
    if (ours := extension(calls)) is not None:
        add_results(calls, "", ours, arrays)
    for name in ("numpy", "torch", "jax", "tvm_ffi", "nanobind"):
        function = getattr(libraries.nanobind, f"to_{name}", None)
        if function is not None:
            calls.add("results", f"nanobind returns to {name}", function)
    array = np.zeros(6, dtype="float32")
    memory = memoryview(array)
    constructors: list[tuple[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
        ("np.empty", np.empty, (6, "float32"), {}),
        ("np.frombuffer", np.frombuffer, (memory, "float32"), {}),
        ("np.empty_like", np.empty_like, (arrays["ndarray"],), {}),
    ]
    if (torch := libraries.torch) is not None:
        constructors += [
            ("torch.empty", torch.empty, (6,), {}),
            ("torch.empty_like", torch.empty_like, (arrays["torch"],), {}),
            ("torch.from_numpy", torch.from_numpy, (array,), {}),
            ("torch.frombuffer", torch.frombuffer, (memory,), {"dtype": torch.float32}),
        ]
    if (jax := libraries.jax) is not None:
        constructors += [
            ("jax.numpy.empty", jax.numpy.empty, (6,), {}),
            ("jax.numpy.empty_like", jax.numpy.empty_like, (arrays["jax"],), {}),
            ("jax.numpy.asarray", jax.numpy.asarray, (array,), {}),
            ("jax.device_put", jax.device_put, (array,), {}),
        ]
    for name, function, arguments, keywords in constructors:
        calls.add("results", name, function, *arguments, keywords=keywords)


def add_sizes(calls: Calls) -> None:
    """The same import of 1 KiB and of 1 GiB, whose pages are not touched."""
    for label, count in (("1 KiB", 1 << 8), ("1 GiB", 1 << 28)):
        array = np.zeros(count, dtype="float32")
        calls.add("sizes", f"dlbridge.from_dlpack(ndarray of {label})", dlbridge.from_dlpack, array)
        calls.add("sizes", f"np.from_dlpack(ndarray of {label})", np.from_dlpack, array)
        calls.add("sizes", f"dlbridge.from_dlpack(bare C of {label})", dlbridge.from_dlpack,
                  Bare((count,)))  # fmt: skip


def all_calls() -> tuple[Calls, Libraries]:
    calls = Calls()
    libraries = load(calls)
    arrays = producers(libraries)
    calls.add("anchors", EMPTY, bench_loop.empty, arrays["ndarray"])
    add_imports(calls, libraries, arrays)
    add_conversions(calls, arrays)
    add_copies(calls)
    add_exports(calls, arrays)
    add_arguments(calls, libraries, arrays)
    add_choices(calls, libraries)
    add_vectorized(calls)
    add_returns(calls, libraries, arrays)
    add_compiled(calls, arrays)
    add_sizes(calls)
    return calls, libraries
