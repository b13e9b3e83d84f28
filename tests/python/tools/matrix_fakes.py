# SPDX-License-Identifier: BSD-3-Clause
"""Small libraries for the matrix, each with one behaviour, implemented with ctypes.

A module that contains only `ROW = matrix_fakes.row(__name__)` is such a library.
"""

from __future__ import annotations

import ctypes
import math
import operator
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, Callable

import dlbridge
from dlbridge.tools import abi, ctypes_arrays, elements
from dlbridge.tools.libraries import Library, capsule_of


class Array:
    """A float array on the tensor in a capsule."""

    dtype = "float32"

    def __init__(self, capsule: Any, honest: bool = True) -> None:
        self.capsule, self.honest = capsule, honest

    def __dlpack_device__(self) -> tuple[int, int]:
        return abi.CPU

    def __dlpack__(self, **keywords: Any) -> Any:
        contents = abi.read(self.capsule)
        version = keywords.get("max_version") and (1, 0)
        return ctypes_arrays.view(
            self.capsule, contents.shape or (), contents.strides or (), version=version
        )

    def __setitem__(self, key: Any, value: float) -> None:
        contents = abi.read(self.capsule)
        if self.honest and contents.flags & abi.READ_ONLY:
            raise ValueError("it is read-only")
        ctypes.c_float.from_address(contents.first).value = value

    def tolist(self) -> Any:
        return elements.read(abi.read(self.capsule))


class Double(Array):
    dtype = "float64"


class Unreadable(Array):
    def tolist(self) -> Any:
        raise MemoryError("too many")


class Older(Array):
    """Has no keywords."""

    def __dlpack__(self) -> Any:  # type: ignore[override]
        return super().__dlpack__()


class Silent(Array):
    def __dlpack__(self, **keywords: Any) -> Any:
        raise BufferError("it exports nothing")


class Deviceless(Array):
    """Announces no index of the device, as Paddle does."""

    def __dlpack_device__(self) -> Any:
        return (1, None)


class Misdescribed(Array):
    """Exports memory that is one element before its own."""

    def __dlpack__(self, **keywords: Any) -> Any:
        contents = abi.read(self.capsule)
        return ctypes_arrays.view(self.capsule, contents.shape or (), contents.strides or (), -1)


class Unmarked(Array):
    """Exports read-only memory without the mark."""

    def __dlpack__(self, **keywords: Any) -> Any:
        exported = super().__dlpack__(**keywords)
        if abi.read(exported).version is not None:
            abi.ManagedVersioned.from_address(abi.pointer_of(exported)).flags = 0
        return exported


class Attributed(Array):
    """Tells by an attribute alone that it is read-only: its export does not."""

    readonly = False


class Unmarkable:
    """Has neither an assignment nor a flag: it exports nothing."""

    dtype = "float32"

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def tolist(self) -> Any:
        return elements.read(abi.read(self.capsule))


class Dangling(Array):
    """Exports memory that does not outlive it."""

    def __dlpack__(self, **keywords: Any) -> Any:
        contents = abi.read(self.capsule)
        return abi.make(
            data=contents.first, shape=contents.shape, strides=contents.strides
        ).capsule()


class Bytes:
    """The memory of a compact array, as a buffer of MPI has it."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule
        contents = abi.read(capsule)
        count = math.prod(contents.shape or ())
        self.content = list(ctypes.string_at(contents.first, 4 * count))


class Forgetful:
    """Keeps the address, but not the memory alive."""

    def __init__(self, capsule: Any) -> None:
        tensor = abi.take(capsule)
        self.contents = tensor.contents
        tensor.free()

    def tolist(self) -> Any:
        return elements.read(self.contents)


def _marked(make: Callable[[Any], Any]) -> Callable[[Any, Array], Array]:
    def read_only(module: Any, x: Array) -> Array:
        contents = abi.read(x.capsule)
        tensor = abi.make(
            data=contents.first,
            shape=contents.shape,
            strides=contents.strides,
            flags=abi.READ_ONLY,
        )
        tensor.on_delete = [x].clear
        marked: Array = make(tensor.capsule())
        return marked

    return read_only


def _copied(module: Any, x: Any) -> Array:
    return Array(ctypes_arrays.array(elements.read(abi.read(capsule_of(x))), "float32"))


def _shifted(module: Any, x: Any) -> Array:
    capsule = capsule_of(x)
    contents = abi.read(capsule)
    return Array(ctypes_arrays.view(capsule, contents.shape or (), contents.strides or (), -1))


def _copied_transpose(module: Any, x: Array) -> Array:
    return _copied(module, Array(ctypes_arrays.transpose(x.capsule)))


def _old(module: Any, x: Any) -> Array:
    """Supports neither versions nor strides."""
    capsule = x.__dlpack__()
    contents = abi.read(capsule)
    if contents.name != abi.LEGACY or contents.strides != elements.row_major(contents.shape or ()):
        raise BufferError("<b>legacy</b> & row-major only")
    return Array(capsule)


def _raise(error: BaseException) -> Any:
    raise error


def _spiteful(module: Any, x: Any) -> Array:
    """Misreads dlbridge's tensors, and no others."""
    return _shifted(module, x) if isinstance(x, dlbridge.Tensor) else Array(capsule_of(x))


def _nosy(module: Any, x: Any) -> Any:
    """Reads a buffer where there is one, and misreads it."""
    try:
        memory = memoryview(x)
    except TypeError:
        return Array(capsule_of(x))
    return Array(ctypes_arrays.array([0.0] * len(memory), "float32"))


def _indexing(module: Any, x: Any) -> Array:
    """Reads the index of the device."""
    operator.index(x.__dlpack_device__()[1])
    return Array(capsule_of(x))


def _versioned(module: Any, x: Any) -> Array:
    """Passes a keyword, and does not call again without it."""
    return Array(x.__dlpack__(max_version=(1, 0)))


def _once(happens: Callable[[], Any]) -> Callable[[Any, Any], Array]:
    """Returns a consumer to which something happens in the first process that calls it."""

    def take(module: Any, x: Any) -> Array:
        marker = Path(os.environ["MATRIX_FAKES_ONCE"])
        if not marker.exists():
            marker.touch()
            happens()
        return Array(capsule_of(x))

    return take


def _print_and_abort(module: Any, x: Any) -> Any:
    print("Check failed: it is 0x1234", file=sys.stderr, flush=True)
    os.abort()


TAKE: dict[str, Callable[[Any, Any], Any]] = {
    "copying": _copied,
    "converting": lambda m, x: Double(capsule_of(x)),
    "refusing": lambda m, x: _raise(BufferError("none of that")),
    "unreadable": lambda m, x: Unreadable(capsule_of(x)),
    "lying": _shifted,
    "spiteful": _spiteful,
    "forgetful": lambda m, x: Forgetful(capsule_of(x)),
    "unmarkable": lambda m, x: Unmarkable(capsule_of(x)),
    "careless": lambda m, x: Array(capsule_of(x), honest=False),
    "old": _old,
    "nosy": _nosy,
    "slow_once": _once(lambda: time.sleep(600)),
    "killed_once": _once(lambda: os.kill(os.getpid(), signal.SIGKILL)),
    "indexing": _indexing,
    "versioned": _versioned,
    "bytes": lambda m, x: Bytes(capsule_of(x)),
    "crashing": _print_and_abort,
    "leaving": lambda m, x: os._exit(3),
    "exiting": lambda m, x: _raise(SystemExit(4)),
    "hanging": lambda m, x: time.sleep(600),
}
MAKE: dict[str, Callable[[Any], Any]] = {
    "silent": Silent,
    "deviceless": Deviceless,
    "misdescribed": Misdescribed,
    "dangling": Dangling,
    "unmarked": Unmarked,
    "attribute": Attributed,
    "older": Older,
    "garbage": lambda capsule: object(),
    "failing": lambda capsule: _raise(RuntimeError("no memory")),
    "dying": lambda capsule: os.abort(),
}


def row(name: str) -> Library:
    """Returns the library with the behaviour of this name; without one it is correct."""
    make = MAKE.get(name, Array)
    return Library(
        name,
        name,
        (),
        array=lambda m, values, dtype: make(ctypes_arrays.array(values, dtype)),
        take=TAKE.get(name, lambda m, x: Array(capsule_of(x))),
        address=lambda m, x: abi.read(x.capsule).first,
        values=(lambda m, x: x.content) if name == "bytes" else (lambda m, x: x.tolist()),
        index=lambda m, x, key: Array(ctypes_arrays.index(x.capsule, key)),
        transpose=_copied_transpose
        if name == "row_major"
        else lambda m, x: Array(ctypes_arrays.transpose(x.capsule)),
        read_only=None if name in ("unmarkable", "attribute") else _marked(make),
        reads_bytes=name == "bytes",
        reads_other_protocols=name == "nosy",
        by_way_of="numpy" if name == "alias" else "",
    )
