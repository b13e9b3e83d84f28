"""The roads beside DLPack: the buffer protocol and the two array interfaces."""

from __future__ import annotations

import sys
from typing import Any

from dlbridge.tools import abi, buffers
from dlbridge.tools.inspection.description import Description
from dlbridge.tools.inspection.memory import looked_at
from dlbridge.tools.inspection.roads import Raised, Road, guarded, timed

# The letters of struct and of NumPy by kind of number; what has no letter has no dtype here.
_CODES = {**dict.fromkeys("bhilqn", 0), **dict.fromkeys("BHILQN", 1), **dict.fromkeys("efd", 2)}
_COMPLEX = {"Zf", "Zd", "F", "D"}
_KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


def _buffer_dtype(text: str, itemsize: int) -> tuple[int, int, int] | None:
    order, letter = (text[0], text[1:]) if text[:1] in "@=<>!" else ("@", text)
    if (order in ">!") != (sys.byteorder == "big") and order in "<>!" and itemsize > 1:
        return None
    if letter == "?":
        return (6, 8 * itemsize, 1)
    if letter in _COMPLEX:
        return (5, 8 * itemsize, 1)
    return (_CODES[letter], 8 * itemsize, 1) if letter in _CODES else None


def _elements(byte_strides: tuple[int, ...] | None, itemsize: int) -> tuple[int, ...] | None:
    if byte_strides is None or not itemsize or any(step % itemsize for step in byte_strides):
        return None
    return tuple(step // itemsize for step in byte_strides)


def _described(view: buffers.View) -> Description:
    text = (view.format or b"B").decode(errors="replace")
    shape = tuple(view.shape[: view.ndim]) if view.ndim and view.shape else ()
    strides = tuple(view.strides[: view.ndim]) if view.ndim and view.strides else None
    return Description(
        data=view.buf or 0,
        byte_offset=0,
        device=abi.CPU,
        dtype=_buffer_dtype(text, view.itemsize),
        ndim=view.ndim,
        shape=shape,
        strides=_elements(strides, view.itemsize) if view.ndim else (),
        byte_strides=strides if view.ndim else (),
        strides_is_null=not view.strides,
        read_only=bool(view.readonly),
        format=text,
    )


def ask_buffer(x: Any) -> Road:
    """A view of everything, which is released again."""
    if not guarded(lambda: buffers.offered(x)):
        return Road("buffer", "absent")
    try:
        view, seconds = timed(lambda: guarded(lambda: buffers.get(x)), lambda _: False)
    except Raised as raised:
        return Road("buffer", "raised", str(raised), raised.type)
    try:
        if view.suboffsets:
            return Road("buffer", "unreadable", "it has suboffsets: rows of memory by pointers")
        found = looked_at(_described(view))
    finally:
        buffers.release(view)
    return Road("buffer", "gave", description=found, seconds=seconds)


INTERFACES = {"array": "__array_interface__", "cuda array": "__cuda_array_interface__"}


def _is_integers(x: Any) -> bool:
    return isinstance(x, (tuple, list)) and all(isinstance(each, int) for each in x)


def _interface_dtype(text: str) -> tuple[tuple[int, int, int] | None, int]:
    """The dtype that a typestr names, or None; and the bytes of one element."""
    order, kind, digits = text[:1], text[1:2], text[2:]
    size = int(digits) if digits.isdigit() else 0
    foreign = order == (">" if sys.byteorder == "little" else "<") and size > 1
    code = _KINDS.get(kind)
    return (None if foreign or code is None or not size else (code, 8 * size, 1)), size


def _interface(road: str, said: Any) -> Road:
    def no(what: str) -> Road:
        return Road(road, "unreadable", what)

    if not isinstance(said, dict):
        return no(f"expected a dictionary; got {type(said).__name__}")
    shape, text, strides = said.get("shape"), said.get("typestr"), said.get("strides")
    data = said.get("data")
    if not isinstance(shape, (tuple, list)) or not _is_integers(shape):
        return no("expected 'shape' to be a tuple of integers")
    if not isinstance(text, str):
        return no("expected 'typestr' to be a text")
    if not (isinstance(data, (tuple, list)) and len(data) == 2 and isinstance(data[0], int)):
        return no("expected 'data' to be an address and a read-only mark")
    if strides is not None and not (_is_integers(strides) and len(strides) == len(shape)):
        return no("expected 'strides' to be as many integers as 'shape'")
    dtype, size = _interface_dtype(text)
    steps = None if strides is None else tuple(strides)
    found = Description(
        data=data[0],
        byte_offset=0,
        device=abi.CPU if road == "array" else None,
        dtype=dtype,
        ndim=len(shape),
        shape=tuple(shape),
        strides=_elements(steps, size) if shape else (),
        byte_strides=steps if shape else (),
        strides_is_null=strides is None,
        read_only=bool(data[1]),
        format=text,
    )
    return Road(road, "gave", description=looked_at(found))


def ask_interface(x: Any, road: str) -> Road:
    """One of INTERFACES."""
    try:
        said, seconds = timed(lambda: guarded(lambda: getattr(x, INTERFACES[road])), lambda _: True)
    except Raised as raised:
        if raised.type == "AttributeError":
            return Road(road, "absent")
        return Road(road, "raised", str(raised), raised.type)
    found = _interface(road, said)
    return Road(road, found.outcome, found.said, description=found.description, seconds=seconds)
